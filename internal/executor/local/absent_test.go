package local_test

import "testing"

// Every copy of what is to be absent goes in one run, and comes back.
func TestRepeatedLinesGoAndComeBack(t *testing.T) {
	m := newMachine(t)
	m.write("/etc/conf", "a\nk=1\na\nb\nk = 2\na")
	m.cycle("EDIT /etc/conf line=a ensure=absent\nEDIT /etc/conf key=k ensure=absent\n", nil,
		func() { m.want("/etc/conf", "b\n") })
}
