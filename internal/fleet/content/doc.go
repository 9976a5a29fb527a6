// Package content is what a fleet's repositories hold, on its way from git to the
// targets: bundles, the proofs of where they come from, the store of both, and the
// tree that an agent makes of them.
//
//	hub:    sources.Run(ctx)                                 // follows repositories, by polls and Hooks
//	        parts, err := sources.Pack(ctx, rev, store)      // a bundle a part, each with its proof
//	        mux.Handle(content.Path, &content.Server{…})
//	agent:  err := fetcher.Fetch(ctx, assigned.Bundle)       // resumed, compared with its name; believed by Verify
//	        tree, err := content.Compose(top, modules, labels)
//
// # Parts
//
// A repository has parts: the top, which is everything outside of modules/, and each
// directory modules/NAME. A part of a commit is a bundle. Everything that a target's list
// is made of lies in the top and in its own modules: a module reads nothing outside of
// its directory, and modules of other repositories are copied into this one.
//
// # Bundle
//
// Numbers are big endian. Files and links are sorted by path, byte by byte; directories
// come from the paths. The same content has the same bytes, and nothing else is read:
// what is parsed and written again is byte for byte what it was.
//
//	"fettle.bundle/1\n"
//	count u32
//	count times:  type u8 ('f' file, 'x' executable, 'l' link)  length u16  path
//	              'f' 'x':  size u64  sha256 [32]      'l':  length u16  target
//	content of the files, one after the other
//
// A bundle is named by the SHA-256 and the size of this form; on the way it may be
// compressed. It is never unpacked: a tree reads the files where they stand, so no name
// and no link in it leads anywhere. Links are content, as in the repository.
//
// # Proof
//
// A signed commit names a tree, which names trees and files by their digests. So the
// commit object, the tree objects from the top down to the directory that holds the part,
// and the bundle itself are all that is needed to see that the bundle is what was
// signed: Verify computes git's names of all that the bundle holds. Neither a hub nor a
// cache on the way can change a byte. In repositories that name objects by SHA-1 this
// is as strong as SHA-1 is; git init --object-format=sha256 makes others.
//
// A believed key signs commits of other repositories too. So the commit's tree has to have
// the file that binds it to the fleet of the target: FleetFile.
//
// An older commit is as well signed as the newest. So the agent keeps, for each part,
// the commit time of the newest that it took (Floors), and takes no older one without
// a Permit that a believed key signed.
package content
