// Package judge verifies the changes that a configuration manager made to a tree. It does not use code
// of fettle: it takes snapshots, parses lists itself and compares.
//
//	tree, err := judge.Take(root, "/var/lib/fettle")
//	wrong := judge.Holds(list, blobs, tree)
//
// History contains the states before and after each run, and the changes by others between runs. From
// this it derives the states that a rollback must restore.
package judge
