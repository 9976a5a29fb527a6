package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func (w *world) site() string { return filepath.Join(w.dir, "site") }

// beginSite makes the repository with its first commit.
func (w *world) beginSite() {
	w.run("git init -q -b main "+w.site(), "mkdir -p "+w.site()+"/modules/web")
	group := "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\n" + w.settings
	if err := os.WriteFile(filepath.Join(w.site(), "fettle.hcl"), []byte(group), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.commit()
}

// commit makes the next commit, with the module of its number.
func (w *world) commit() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.head + 1
	err := os.WriteFile(filepath.Join(w.site(), "modules/web/module.hcl"), []byte(w.module(n)), 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	git := func(args ...string) string {
		return w.exec(exec.Command("git", append([]string{"-C", w.site(), "-c", "user.name=a", "-c", "user.email=a@b"},
			args...)...))
	}
	git("add", "-A")
	git("commit", "-qm", fmt.Sprint(n))
	w.head = n
	return n
}

// usual is a file with the number of the commit, and an action that runs for a moment, so that faults find agents
// during a run.
func usual(n int) string {
	return fmt.Sprintf(`file "/etc/motd" {
  content = "%d\n"
  notify  = [exec.work.run]
}
exec "work" {
  command = ["sh", "-c", "sleep 0.3; cat /etc/motd >>/var/log/applied"]
  lazy    = true
}
`, n)
}
