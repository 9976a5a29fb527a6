package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cfAgent finds cf-agent, and installs it when it may.
func cfAgent() error {
	if _, err := exec.LookPath("cf-agent"); err == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("cf-agent is not measured: it is not installed. As root: apt-get install cfengine3")
	}
	out, err := exec.Command("apt-get", "install", "-y", "--no-install-recommends", "cfengine3").CombinedOutput()
	if err != nil {
		return fmt.Errorf("cf-agent is not measured: it cannot be installed: %w\n%s", err, out[max(0, len(out)-500):])
	}
	return nil
}

// cfTools are the ways of writing the files down for cf-agent. Comparing by
// time finds no file that was changed at its place, so it verifies nothing.
func cfTools() []tool {
	promises := cfTool("cf-agent, n promises", "n copies; by time where nothing is to be done, else by digest", cfPromises, func(w work) string {
		if w == noChange {
			return "mtime"
		}
		return "digest"
	})
	promises.onceIfSlow = true
	return []tool{
		cfTool("cf-agent, tree by digest", "one recursive copy, compare => digest", cfTree, func(work) string { return "digest" }),
		cfTool("cf-agent, tree by time", "one recursive copy, compare => mtime", cfTree, func(w work) string {
			if w == verifyAll {
				return ""
			}
			return "mtime"
		}),
		promises,
	}
}

func cfTool(name, about string, policy func(p place, compare string) string, compare func(work) string) tool {
	folder := func(p place, by string) string { return filepath.Join(p.dir, "cfengine-"+by) }
	return tool{
		name: name, about: about,
		prepare: func(p place) error {
			if err := writeTree(filepath.Join(p.dir, "source"), p.n); err != nil {
				return err
			}
			for _, by := range []string{"digest", "mtime"} {
				if err := cfWorkFolder(folder(p, by), policy(p, by)); err != nil {
					return err
				}
			}
			return nil
		},
		command: func(p place, w work) []string {
			by := compare(w)
			if by == "" {
				return nil
			}
			return []string{"env", "CFENGINE_TEST_OVERRIDE_WORKDIR=" + folder(p, by), "cf-agent", "-K"}
		},
	}
}

// cfWorkFolder makes a folder with keys and the policy in its proper place,
// where cf-agent has it checked by cf-promises only when it changed. Without
// the folder in its environment cf-agent would turn to the machine's own policy
// and start its daemons, so it is never started by itself: see cfTool.
func cfWorkFolder(dir, policy string) error {
	for _, d := range []string{"inputs", "ppkeys", "state", "bin", "outputs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "inputs/promises.cf"), []byte(policy), 0o600); err != nil {
		return err
	}
	promises, err := exec.LookPath("cf-promises")
	if err != nil {
		return err
	}
	if err := os.Symlink(promises, filepath.Join(dir, "bin/cf-promises")); err != nil {
		return err
	}
	return cfKeys(dir)
}

// cfKeys makes the keys without which cf-agent does nothing.
func cfKeys(dir string) error {
	cmd := exec.Command("cf-key")
	cmd.Env = append(os.Environ(), "CFENGINE_TEST_OVERRIDE_WORKDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cf-key: %w\n%s", err, out)
	}
	return nil
}

const cfBodies = `body common control { bundlesequence => { "main" }; version => "1"; }
body agent control { ifelapsed => "0"; expireafter => "600"; }
body perms m { mode => "0644"; rxdirs => "true"; }
body depth_search rec { depth => "inf"; }
body copy_from cp(s) { source => "$(s)"; compare => "%s"; copy_backup => "false"; }
bundle agent main
{
files:
`

func cfTree(p place, compare string) string {
	return fmt.Sprintf(cfBodies, compare) + cfFolder(p.dest) +
		fmt.Sprintf("  \"%s\" perms => m, copy_from => cp(\"%s/source\"), depth_search => rec;\n}\n", p.dest, p.dir)
}

func cfFolder(dir string) string {
	return fmt.Sprintf("  \"%s/.\" create => \"true\", perms => m;\n", dir)
}

func cfPromises(p place, compare string) string {
	var b strings.Builder
	fmt.Fprintf(&b, cfBodies, compare)
	b.WriteString(cfFolder(p.dest))
	for _, d := range folders(p.n) {
		b.WriteString(cfFolder(filepath.Join(p.dest, d)))
	}
	for i := range p.n {
		fmt.Fprintf(&b, "  \"%s/%s\" perms => m, copy_from => cp(\"%s/source/%s\");\n", p.dest, name(i), p.dir, name(i))
	}
	b.WriteString("}\n")
	return b.String()
}
