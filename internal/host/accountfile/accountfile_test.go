package accountfile_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/accountfile"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
)

func FuzzRead(f *testing.F) {
	f.Add("bob:x:1:1::/:/bin/sh\n", "bob:x:1:\n")
	f.Add("bob:x\n", "bob")
	f.Add(":\n\n::::::::\n", "bob:x:99999999999:a,b")
	f.Fuzz(func(t *testing.T, passwd, group string) {
		h := mem.NewFS(mem.Options{})
		if err := h.Mkdir("/etc", 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{accountfile.Passwd: passwd, accountfile.Group: group,
			accountfile.GShadow: group} {
			w, err := h.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		db := accountfile.NewPlain(h, func() (io.Closer, error) { return io.NopCloser(nil), nil })
		ctx := context.Background()
		_, _ = db.Group("bob")
		if u, err := db.User("bob"); err == nil && u.Present {
			_ = db.SetMember(ctx, "bob", "bob", true)
			if db.SetUser(ctx, "bob", image.User{}, host.NewUser{}) != nil || db.SetUser(ctx, "bob", u, host.NewUser{}) != nil {
				return // a malformed group, said in the error
			}
			if got := content(t, h, accountfile.Passwd); strings.HasSuffix(passwd, "\n") && got != passwd {
				t.Errorf("%q came back as %q", passwd, got)
			}
		}
	})
}

func content(t *testing.T, h host.FS, file string) string {
	t.Helper()
	f, err := h.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func Example() {
	h := mem.New(mem.Options{})
	_ = h.Mkdir("/etc", 0o755)
	a := h.Accounts() // a DB on the files of h
	ctx := context.Background()
	before, _ := a.User("bob")
	err := a.SetUser(ctx, "bob", image.User{Present: true, UID: 1000, Home: "/home/bob", Shell: "/bin/sh"},
		host.NewUser{OwnGroup: true})
	made, _ := a.User("bob")
	fmt.Println(err, made.Lines["passwd"])
	err = a.SetUser(ctx, "bob", before, host.NewUser{})
	gone, _ := a.User("bob")
	fmt.Println(err, gone.Present)
	// Output:
	// <nil> bob:x:1000:1000::/home/bob:/bin/sh
	// <nil> false
}
