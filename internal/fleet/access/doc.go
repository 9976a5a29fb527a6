// Package access authenticates users, decides about their rights, and writes an audit log in which
// changes of old records are detected.
//
//	gate := &access.Gate{Users: store, Trust: trust, OIDC: provider, Limit: &pki.Limit{}, Now: time.Now}
//	who, err := gate.Authenticate(request)      // 401 where it fails
//	if !who.May(access.Operate) { … }           // 403
//	err = trail.Append(ctx, access.Entry{User: who.Name,
//		Credential: who.Credential, Operation: "target.pin", Object: "web3", Outcome: access.Begun})
//
// # Rights
//
// A route needs one right. Roles have the names of rights and give these:
//
//	role      read  operate  approve  admin
//	read       ×
//	operate    ×       ×
//	approve    ×                ×
//	admin      ×       ×        ×        ×
//
// Approve does not include operate: different users can request a change and approve it, and
// neither can do both. An admin can give every role to any user, so the role admin includes all
// rights.
//
// # Credentials
//
// A user is a human or a program: a name with roles in the store. A user authenticates in one of
// three ways:
//
//   - with a bearer token. It is stored as a hash; its prefix is public and identifies it;
//   - with a certificate of the fleet CA, by mutual TLS;
//   - with an ID token of an OIDC provider, whose claims give the roles.
//
// If a request has a bearer token, other credentials are ignored. Root on the host of the hub uses
// a socket and has the role admin. Errors never state which part of a credential was wrong.
//
// # The audit log
//
// Each hub writes its own chain: a record contains the digest of the previous one. If a record is
// edited, removed or moved, all later digests are wrong, and Verify finds the first such record. A
// truncated end is only detected with a Head that was stored elsewhere. So heads must be copied to
// other hosts: in reports, by syslog, or to git.
package access
