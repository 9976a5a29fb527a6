package local_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// versions is a host on which lists with versions of one command are applied. A program
// with "bad" in its name fails.
type versions struct {
	t   *testing.T
	x   *local.Executor
	ran []string
}

func newVersions(t *testing.T) *versions {
	v := &versions{t: t}
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		v.ran = append(v.ran, strings.Join(c.Argv, " "))
		if strings.Contains(c.Argv[0], "bad") {
			return host.CommandResult{ExitCode: 1}, nil
		}
		return host.CommandResult{}, nil
	}})
	x, err := local.New(h, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	v.x = x
	return v
}

// apply applies a list and compares the commands that ran.
func (v *versions) apply(text string, want ...string) {
	v.t.Helper()
	list, ds := step.Parse("list", []byte(text))
	if ds.HasErrors() {
		v.t.Fatal(ds)
	}
	v.ran = nil
	r := executor.Request{List: list, Repair: true, Revision: repo.Revision{Digest: list.Digest()}}
	_, err := v.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
	if failed := slices.ContainsFunc(want, func(c string) bool {
		return strings.Contains(c,
			"bad")
	}); (err != nil) != failed || !slices.Equal(v.ran, want) {
		v.t.Errorf("%q ran %q and must run %q: %v", text, v.ran, want, err)
	}
}

// A version of a command that ran does not count as done after a changed version failed:
// that one may have changed anything. What the first one did still has its undo.
func TestEarlierVersionAfterAFailure(t *testing.T) {
	const first, second = `EXEC m /bin/one undo="/bin/unone"` + "\n", "EXEC m /bin/bad\n"
	v := newVersions(t)
	v.apply(first, "/bin/one")
	v.apply(second, "/bin/bad")
	v.apply(first, "/bin/one")
	v.apply(first)
	v.apply(second, "/bin/bad")
	v.apply(second, "/bin/bad")
	v.apply("", "/bin/unone")
	v.apply(first, "/bin/one")
}

// The undo of a version runs if no later version says how to undo it.
func TestUndoOfAnEarlierVersion(t *testing.T) {
	v := newVersions(t)
	v.apply(`EXEC m /bin/one undo="/bin/unone"`+"\n", "/bin/one")
	v.apply("EXEC m /bin/two\n", "/bin/two")
	v.apply("EXEC m /bin/three\n", "/bin/three")
	v.apply("", "/bin/unone")
	v.apply(`EXEC m /bin/one undo="/bin/unone"`+"\n", "/bin/one")
	v.apply(`EXEC m /bin/two undo="/bin/untwo"`+"\n", "/bin/two")
	v.apply("", "/bin/untwo")
}

// A command whose undo failed does not count as done.
func TestCommandWhoseUndoFailed(t *testing.T) {
	v := newVersions(t)
	const line = `EXEC m /bin/one undo="/bin/bad"` + "\n"
	v.apply(line, "/bin/one")
	v.apply("", "/bin/bad")
	v.apply(line, "/bin/one")
	v.apply("", "/bin/bad")
	v.apply("", "/bin/bad")
}
