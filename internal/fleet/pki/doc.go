// Package pki manages the identities of a fleet: its CA, the certificates of hubs, targets and
// users, tokens for new hosts, and revocations.
//
//	ca, err := pki.NewCA(host, "/var/lib/fettle-hub/authority", "acme", now)
//	hub, err := pki.OpenHub(host, "/var/lib/fettle-hub/keys")     // creates keys if there are none
//	certificates, err := ca.Certify(request, "hub1", []string{"hub.example.org"}, now)   // request: hub.Request()
//	err = hub.Install(certificates)
//
//	r := &pki.Registrar{Hub: hub, Revocations: &pki.Revocations{}, Tokens: …, Targets: …, RevocationStore: …, Names: …, Now: time.Now}
//	mux.HandleFunc("POST /v1/enrol", r.ServeEnrol)
//	mux.HandleFunc("POST /v1/renew", r.ServeRenew)
//	mux.HandleFunc("POST /v1/facts", r.ServeRevocations)
//
//	client := pki.Client{Directory: pki.Directory{FS: host, Dir: "/var/lib/fettle/identity"}, Now: time.Now}
//	identity, err := client.Enrol(ctx, "https://hub.example.org:7440", token, "web1") // on the host
//
// # Certificates
//
//	fleet CA             20 years, P-256, path length 1; its key can be stored off-line
//	├── hub/ID           1 year, P-256, server and client of hubs; with DNS names
//	├── signer/ID        1 year, ed25519, the signing key of hub ID; no TLS
//	├── issuer/ID        1 year, P-256, path length 0, client certificates of this fleet only
//	│   ├── target/ID    24 hours
//	│   └── person/NAME  a user, at most 90 days
//	└── services/ID      1 year, P-256, path length 0, issues certificates of services
//	    └── a service    30 days, DNS names and addresses, no URI
//
// The name is the only URI of a certificate: fettle://FLEET/KIND/ID. FLEET is the name of the
// fleet; its environments (prod, staging) are a label of targets. Hubs and signers are accepted
// only directly below the fleet CA, targets and users only below an issuer. A stolen issuing key
// therefore cannot create a hub, and all certificates of an issuer become invalid when it is
// revoked.
//
// A target's certificate has its name, labels and environment in a non-critical extension, as JSON
// (see Claims). From these, the hubs rebuild a lost registry as targets connect.
//
// # Keys and identities
//
// Keys are created where they are used. The ID of a target is derived from the digest of its key
// (TargetIDOf): a key is the same target permanently. A host that enrols again creates a new key
// and becomes another target. Renewal keeps the key, and the key authenticates it.
//
// # Clocks
//
// Hubs use their own clock. The clock of an agent can be wrong by a year in either direction, so
// the agent uses VerificationTime: a certificate is invalid if it expired before the latest time that was
// signed for this agent (RaiseMinimumTime). Its own clock only decides between the remaining times.
package pki
