// Package histories runs random histories against the real program: applies, rollbacks,
// kills and changes by others on a throwaway root. The package judge, which uses none of
// fettle's code, decides after each operation whether the tree is right.
//
//	go test ./test/histories                             # a fixed number of rounds, and the scripts
//	go test ./test/histories -rounds 10000 -seed 7       # other rounds
//	go test ./test/histories -rounds 10000 -edits 60     # with more edits
//	go test ./test/histories -seed 7 -round 324          # one round
//	go test ./test/histories -run Scripts/tree-goes      # one recorded history
//
// As root on Linux. A round that fails is shrunk to a script in the form of testdata/*.txtar:
//
//	-- host --      what is there before: dir, file, link, hard, xattr
//	-- 1 --         a list of steps, and so on
//	-- history --   the operations, one a line
//
// testdata/open has the scripts of known errors that are not corrected yet. TestScripts does not play them.
package histories
