// Package access says who of the people and programs may do what, and keeps a record of
// it that nobody edits without notice.
//
//	gate := &access.Gate{People: store, Trust: trust, OIDC: provider, Limit: &pki.Limit{}, Now: time.Now}
//	who, err := gate.Authenticate(request)      // 401 where it fails
//	if !who.May(access.Operate) { … }           // 403
//	err = trail.Append(ctx, access.Entry{Who: who.Name, How: who.How, What: "target.pin", On: "web3", Outcome: access.Begun})
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
// Approve is beside operate and not above it: who asks for a change and who agrees to it
// can be different people, and neither can do the other's part. An admin can give every
// role to anybody, so that an admin has them all is no more than honest.
//
// # Proofs
//
// People and programs are the same here: a name with roles in the store. They prove it by
// a bearer token (kept hashed; its beginning is no secret and names it), by a certificate
// of the authority (mutual TLS), or by an ID token of an OIDC provider, whose claims give
// the roles. Who sends a bearer token is judged by that alone. Root on the hub's own
// machine comes by a socket and is admin. An error about a proof never says which part
// of it was wrong.
//
// # The audit log
//
// Each hub writes a chain of its own: a record has the digest of the one before, so that
// editing, removing or reordering any of them breaks all that follow, and Verify names
// the first. Cutting off the end is seen by whoever kept a Head, which is why heads are
// to be told to other machines: reports, syslog, git.
package access
