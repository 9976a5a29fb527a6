// Package content transports the content of a fleet's repositories from git to the targets:
// bundles, the proofs of their origin, a store for both, and the tree that an agent composes of
// them.
//
//	hub:    sources.Run(ctx)                                 // follows repositories, by polls and Hooks
//	        parts, err := sources.Pack(ctx, rev, store)      // a bundle for each part, with its proof
//	        mux.Handle(content.Path, &content.Server{…})
//	agent:  err := fetcher.Fetch(ctx, assigned.Bundle)       // resumable, verified by digest; Verify checks the signature
//	        tree, err := content.Compose(top, modules, enrolled)
//
// # Parts
//
// A repository has parts: the root bundle, which is everything outside of modules/, and each
// directory modules/NAME. A part of a commit is a bundle. A target's list depends only on the root
// bundle and the modules of the target. A module cannot read files outside of its directory, and
// modules of other repositories are copied into the repository.
//
// # Bundle
//
// Numbers are big endian. Files and links are sorted by path, byte by byte; directories follow from
// the paths. The format is canonical: the same content has the same bytes, and a bundle that is
// parsed and written again is unchanged.
//
//	"fettle.bundle/1\n"
//	count u32
//	count times:  type u8 ('f' file, 'x' executable, 'l' link)  length u16  path
//	              'f' 'x':  size u64  sha256 [32]      'l':  length u16  target
//	content of the files, one after the other
//
// A bundle is identified by the SHA-256 and the size of this form; it may be compressed for the
// transfer. It is never unpacked: a tree reads the files within the bundle, so names and links
// cannot lead outside. Links are content, as in the repository.
//
// # Proof
//
// A signed commit contains the digest of a tree, which contains the digests of trees and files. A
// proof is the commit object and the tree objects from the root down to the directory of the part.
// Together with the bundle it proves that the bundle has the signed content: Verify computes the
// git hashes of all content of the bundle. Neither a hub nor a cache can change a byte. In
// repositories with SHA-1 this is as strong as SHA-1; git init --object-format=sha256 makes
// stronger ones.
//
// A trusted key may also sign commits of other repositories. The commit must therefore contain the
// file that binds it to the fleet of the target: FleetFile.
//
// An older commit has a valid signature too. The agent therefore stores, for each part, the time of
// the newest accepted commit (MinimumCommits). It accepts an older commit only with a Permit that a
// trusted key signed.
package content
