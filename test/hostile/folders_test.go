package hostile

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// directoryAttacks are work trees and plain directories.
func directoryAttacks() []attack {
	swap := func(name string, with func(e *enemy, p string) error) func(*enemy) {
		return func(e *enemy) {
			p := e.repo + "/" + name
			must(e.t, os.RemoveAll(p))
			must(e.t, with(e, p))
		}
	}
	fifo := func(_ *enemy, p string) error { return syscall.Mkfifo(p, 0o644) }
	outside := func(name string) func(*enemy, string) error {
		return func(e *enemy, p string) error { return os.Symlink(e.outside+name, p) }
	}
	return []attack{
		{name: "a source that is a link out", make: swap("files/x", outside("/secret")),
			says: []string{"fettle.hcl:2", "symbolic link", "not followed"}},
		{name: "a directory that is a link out", make: swap("files", outside("/files")),
			says: []string{"fettle.hcl:2", `"files`}},
		{name: "the main file is a link out", make: swap("fettle.hcl", outside("/fettle.hcl")),
			says: []string{"--> fettle.hcl", "symbolic link"}},
		{name: "the main file is a directory", make: swap("fettle.hcl",
			func(_ *enemy, p string) error { return os.Mkdir(p, 0o755) }), says: []string{"fettle.hcl"}},
		{name: "the main file is a pipe", make: swap("fettle.hcl", fifo), says: []string{`"fettle.hcl"`, "neither file"}},
		{name: "a source that is a pipe", make: swap("files/x", fifo), says: []string{`"files/x"`, "neither file"}},
		{name: "a source that is a device", make: swap("files/x", func(_ *enemy, p string) error {
			return syscall.Mknod(p, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
		}), says: []string{`"files/x"`, "neither file"}},
		{name: "a source that is a socket", make: swap("files/x",
			func(_ *enemy, p string) error { return syscall.Mknod(p, syscall.S_IFSOCK|0o666, 0) }),
			says: []string{`"files/x"`, "neither file"}},
		{name: "a source that has holes of 1 TiB", make: func(e *enemy) {
			must(e.t,
				os.Truncate(e.repo+"/files/x", 1<<40))
		}, says: []string{`"files/x"`, "--max-file-size"}},
		{name: "many files with holes", make: func(e *enemy) {
			for i := range 200 {
				p := fmt.Sprintf("%s/hole%03d", e.repo, i)
				must(e.t, os.WriteFile(p, nil, 0o644))
				must(e.t, os.Truncate(p, 32<<20))
			}
		}, long: true, says: []string{"hole", "all files together"}},
		{name: "a repository inside", make: func(e *enemy) {
			e.git("init", "-q", "vendor/x")
			e.put("vendor/x/f", "x")
			write(e.t, e.repo+"/vendor/x/.git/hooks/post-checkout", e.script("nested"), 0o755)
		}, says: []string{`"vendor/x"`, "repository of its own"}},
		{name: "a submodule in the index", make: func(e *enemy) {
			e.git("update-index", "--add", "--cacheinfo",
				"160000,"+missing+",sub")
		}, says: []string{`"sub"`, "submodule"}},
		{name: "a new name with a newline", make: func(e *enemy) { e.put("a\nb", "x") },
			says: []string{`"a\nb"`, "control character"}},
		{name: "a new name that is not UTF-8", make: func(e *enemy) { e.put("caf\xe9", "x") },
			says: []string{`"caf\xe9"`, "not UTF-8"}},
		{name: "40 new directories deep", make: func(e *enemy) { e.put(strings.Repeat("d/", 40)+"f", "x") },
			says: []string{`"d/d/d`, "deep"}},
		{name: "a bare repository inside", make: func(e *enemy) {
			e.git("init", "-q", "--bare", "files/bare.git")
			write(e.t, e.repo+"/files/bare.git/hooks/post-checkout", e.script("bare"), 0o755)
		}},
		{name: "a plain directory", make: func(e *enemy) { must(e.t, os.RemoveAll(e.repo+"/.git")) }},
		{name: "a plain directory with a link out", make: func(e *enemy) {
			must(e.t, os.RemoveAll(e.repo+"/.git"))
			swap("files/x", outside("/secret"))(e)
		}, says: []string{"fettle.hcl:2", "symbolic link"}},
		{name: "a plain directory with a directory linked out", make: func(e *enemy) {
			must(e.t, os.RemoveAll(e.repo+"/.git"))
			swap("files", outside("/files"))(e)
		}, says: []string{"fettle.hcl:2"}},
		{name: "a plain directory with a pipe", make: func(e *enemy) {
			must(e.t, os.RemoveAll(e.repo+"/.git"))
			swap("files/x", fifo)(e)
		}, says: []string{`"files/x"`, "neither file"}},
		{name: "a plain directory with git's own inside", make: func(e *enemy) {
			must(e.t, os.RemoveAll(e.repo+"/.git"))
			e.put("sub/.git/config", "x")
		}, says: []string{`"sub/.git"`, "confused with, the directory of git"}},
	}
}

// textAttacks reach out by what the language can say.
func textAttacks() []attack {
	says := func(text string, says ...string) attack {
		return attack{name: text, make: func(e *enemy) {
			e.put("fettle.hcl", "target \"a\" {}\n"+strings.ReplaceAll(text, "OUTSIDE", e.outside)+"\n")
		}, says: append(says, "fettle.hcl:2")}
	}
	list := []attack{
		says(`file "/etc/x" { source = "../outside/secret" }`, "leaves the module"),
		says(`file "/etc/x" { source = "files/../../outside/secret" }`, "leaves the module"),
		says(`file "/etc/x" { source = "OUTSIDE/secret" }`, "relative"),
		says(`file "/etc/x" { content = file("../outside/secret") }`, "leaves the module"),
		says(`file "/etc/x" { content = file("/etc/passwd") }`, "relative"),
		says(`file "/etc/x" { content = templatefile("../outside/secret", {}) }`, "leaves the module"),
		says(`file "/etc/x" { template = "../outside/secret" }`, "leads out"),
		says(`file "/etc/x" { content = filesha256("../outside/secret") }`, "leaves the module"),
		says(`file "/etc/x" { content = join("", fileset("..", "**")) }`, "leads out"),
		says(`file "/etc/x" { source = ".git/config" }`),
		says(`file "/etc/x" { source = "files/x\u0000y" }`),
		says(`directory "/srv/x" { source = "../outside" }`, "leaves the module"),
		says(`file "/etc/../../outside/x" { source = "files/x" }`),
		says(`file "etc/x" { source = "files/x" }`),
		says(`file "/var/lib/fettle/current" { content = "" }`),
		says(`file "/proc/sys/kernel/core_pattern" { content = "|/evil" }`),
		says(`file "/dev/shm/x" { content = "" }`),
		says("module \"x\" { source = \"../outside\" }"),
	}
	modules := attack{name: "a module outside", says: []string{"fettle.hcl:1", "module"},
		make: func(e *enemy) { e.put("fettle.hcl", "target \"a\" { modules = [\"../../outside\"] }\n") }}
	tree := attack{name: "a source tree with a link out", says: []string{"fettle.hcl:2", "files/l"}, make: func(e *enemy) {
		e.put("fettle.hcl", "target \"a\" {}\ndirectory \"/srv/x\" { source = \"files\" }\n")
		must(e.t, os.Symlink("../../outside/secret", e.repo+"/files/l"))
	}}
	return append(list, modules, tree)
}
