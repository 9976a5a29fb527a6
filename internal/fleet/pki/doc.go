// Package pki says who is who in a fleet: the authority, certificates of hubs,
// targets and people, tokens that let hosts in, and what is not believed any more.
//
//	authority, err := pki.NewAuthority(host, "/var/lib/fettle-hub/authority", "acme", now)
//	hub, err := pki.OpenHub(host, "/var/lib/fettle-hub/keys")     // makes keys where there are none
//	certificates, err := authority.Vouch(hub.Request(), "hub1", []string{"hub.example.org"}, now)
//	err = hub.Install(certificates)
//
//	r := &pki.Registrar{Hub: hub, Revocations: &pki.Revocations{}, Tokens: …, Targets: …, Facts: …, Names: …, Now: time.Now}
//	mux.HandleFunc("POST /v1/enrol", r.ServeEnrol)
//	mux.HandleFunc("POST /v1/renew", r.ServeRenew)
//	mux.HandleFunc("POST /v1/facts", r.ServeFacts)
//
//	client := pki.Client{Directory: pki.Directory{FS: host, Dir: "/var/lib/fettle/identity"}, Now: time.Now}
//	identity, err := client.Enrol(ctx, "https://hub.example.org:7440", token, "web1") // on the host
//
// # Certificates
//
//	authority            20 years, P-256, path length 1; its key may be taken off-line
//	├── hub/ID           1 year, P-256, serves and calls hubs; with DNS names
//	├── signer/ID        1 year, ed25519, vouches for what hub ID signs; no TLS
//	├── issuer/ID        1 year, P-256, path length 0, client certificates of this fleet only
//	│   ├── target/ID    24 hours
//	│   └── person/NAME  at most 90 days
//	└── services/ID      1 year, P-256, path length 0, servers that have no name in the fleet
//	    └── a service    30 days, DNS names and addresses, no URI
//
// The name is the one URI in each of them, fettle://FLEET/KIND/ID. FLEET is the name of
// the authority; the environments of one hub (prod, staging) are a label of targets. Hub
// and signer are believed only straight below the authority, targets and people only
// below an issuer: whoever steals the issuing key of a hub makes no hub with it, and all
// that they made goes when that issuer is revoked.
//
// A target's certificate has its name, labels and environment in an extension that is not
// critical, as JSON (see Claims), so that a registry that was lost is made again from
// those who connect.
//
// # Keys and identities
//
// Keys are made where they are used. The identity of a target is made of the digest of
// its key (TargetIDOf): a key is one target for ever, and a host that is enrolled anew
// makes a new key and is another target. Renewal keeps the key and is proved by it.
//
// # Clocks
//
// Hubs go by their clock. An agent's may be a year off in either direction, so it judges
// by Moment: nothing counts that had ended before the highest time that was ever signed
// for it (Raise), and its own clock only decides where that leaves a choice.
package pki
