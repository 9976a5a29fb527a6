// Package judge decides whether what a configuration manager did to a tree is right.
// It uses none of fettle's code: it takes snapshots, reads lists by itself and compares.
//
//	tree, err := judge.Take(root, "/var/lib/fettle")
//	wrong := judge.Holds(list, blobs, tree)
//
// History has what the runs found and left, and what others changed between them.
// From that it decides what a rollback must restore.
package judge
