package step_test

import (
	"fmt"
	"testing/fstest"

	"fettle.dev/fettle/internal/step"
)

func Example() {
	before, _ := step.Parse("before.steps", []byte("MKDIR /tmp/blaat\nCOPY file1 /tmp/blaat/file1\n"))
	after, _ := step.Parse("after.steps", []byte("MKDIR /tmp/blaat\nCOPY file2 /tmp/blaat/file2\n"))
	fmt.Print(step.FormatDiff(step.Diff(before, after)))
	// Output:
	// -COPY file1 /tmp/blaat/file1
	// +COPY file2 /tmp/blaat/file2
}

func ExampleParse() {
	list, diags := step.Parse("web.steps", []byte("MKDIR /srv//www mode=755 #@ web.hcl:3\nMKDIR /srv/x ower=root\n"))
	fmt.Print(list)
	fmt.Println(list[0].Source)
	fmt.Println(diags[0])
	// Output:
	// MKDIR /srv/www mode=0755
	// web.hcl:3
	// web.steps:2:14: error: Unknown attribute: MKDIR has no attribute "ower". Did you mean "owner"? It takes owner, group, mode, purge, lock, phase.
}

func ExampleResolve() {
	directory := step.Directory{FS: fstest.MapFS{
		"motd":             {Data: []byte("hello\n")},
		"more/users.steps": {Data: []byte("USER deploy\n")},
	}}
	list, _ := step.Parse("web.steps", []byte("COPY motd /etc/motd\nINCLUDE more/users.steps\n"))
	list, diags := step.Resolve(list, directory)
	fmt.Print(list)
	fmt.Println(list[0].Written, len(diags))
	// Output:
	// COPY sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03 /etc/motd
	// USER deploy
	// COPY motd /etc/motd 0
}

func ExampleReverse() {
	list, _ := step.Parse("x.steps", []byte("MKDIR /tmp/blaat\nCOPY file1 /tmp/blaat/file1\nEXEC db createdb web\n"))
	for _, line := range step.Reverse(list) {
		fmt.Println(line)
	}
	// Output:
	// # EXEC db: irreversible
	// RM /tmp/blaat/file1
	// RMDIR /tmp/blaat
}

func ExampleLint() {
	list, _ := step.Parse("x.steps", []byte("COPY file1 /tmp/blaat/file1\nMKDIR /tmp/blaat\n"))
	for _, d := range step.Lint(list, step.DebianBase{}) {
		fmt.Println(d)
	}
	// Output:
	// x.steps:1:12: error: Directory created too late: The directory "/tmp/blaat" is created after this step, at x.steps:2:1. Steps run in the order of the list: move its step before this one.
}

func ExampleSplitWords() {
	words, err := step.SplitWords(`visudo -c -f 'a file' $HOME`)
	fmt.Printf("%q %v\n", words, err)
	fmt.Println(step.JoinWords(words))
	// Output:
	// ["visudo" "-c" "-f" "a file" "$HOME"] <nil>
	// visudo -c -f 'a file' $HOME
}

func ExampleNew() {
	s, err := step.New(step.User, []string{"deploy"}, step.Attr{Key: "comment", Value: "the deployer"})
	fmt.Println(s, err)
	// Output:
	// USER deploy comment="the deployer" <nil>
}
