package generator_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/kind/kindtest"
)

func ExampleRun() {
	r := generator.Run{Name: "users", Directory: "modules/web", Output: "steps"}
	fmt.Println(r.OutputFile(), r.LockFile())
	r.Stdin = `{"port":80}`
	fmt.Println(r.OutputFile())
	// Output:
	// generated/users.steps generated/users.lock
	// generated/users-6d6fe54d68e7.steps
}

func TestGolden(t *testing.T) {
	kinds := []kind.Kind{generator.Kind()}
	kindtest.Documented(t, kinds)
	kindtest.Run(t, kindtest.Options{Kinds: kinds})
}

// What comes from the compiler's process names no file outside of its directory.
func TestValid(t *testing.T) {
	good := generator.Run{Name: "users", Directory: ".", Command: []string{"x"}, Output: "json",
		Files: map[string]string{"a/b": "x"}}
	if err := good.Valid(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*generator.Run){
		"directory above": func(r *generator.Run) { r.Directory = ".." },
		"whole path":      func(r *generator.Run) { r.Directory = "/etc" },
		"unclean":         func(r *generator.Run) { r.Directory = "a/../.." },
		"file above":      func(r *generator.Run) { r.Files = map[string]string{"../x": "x"} },
		"name":            func(r *generator.Run) { r.Name = "../x" },
		"no command":      func(r *generator.Run) { r.Command = nil },
		"output":          func(r *generator.Run) { r.Output = "/x" },
	} {
		r := good
		if change(&r); r.Valid() == nil {
			t.Errorf("%s is valid", name)
		}
	}
}
