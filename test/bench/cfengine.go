package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cfLargest is the number of files above which one of its ways says enough.
const cfLargest = 10_000

// cfTools are the ways of writing the files down for cf-agent. Comparing by
// time finds no file that was changed at its place, so it verifies nothing.
func cfTools() []tool {
	promises := cfTool("cf-agent, n promises", "n copies; by time if there is no change, otherwise by digest",
		cfPromises, func(w work) string {
			if w == noChange {
				return "mtime"
			}
			return "digest"
		})
	promises.onceIfSlow = true
	byTime := cfTool("cf-agent, tree by time", "one recursive copy, compare => mtime", cfTree, func(w work) string {
		if w == verifyAll {
			return ""
		}
		return "mtime"
	})
	promises.largest, byTime.largest = cfLargest, cfLargest
	return []tool{
		cfTool("cf-agent, tree by digest", "one recursive copy, compare => digest", cfTree,
			func(work) string { return "digest" }),
		byTime, promises,
	}
}

func cfTool(name, about string, policy func(p place, compare string) string, compare func(work) string) tool {
	directory := func(p place, by string) string { return filepath.Join(p.dir, "cfengine-"+by) }
	return tool{
		name: name, about: about,
		prepare: func(p place) error {
			for _, by := range []string{"digest", "mtime"} {
				if err := cfWorkFolder(directory(p, by), policy(p, by)); err != nil {
					return err
				}
			}
			return nil
		},
		command: func(p place, w work) []string {
			by := compare(w)
			if by == "" || w == coldList {
				return nil
			}
			return cfRun(directory(p, by))
		},
	}
}

// cfRun never starts cf-agent without a directory: it would turn to the machine's
// own policy and start its daemons.
func cfRun(directory string) []string {
	return []string{"env", "CFENGINE_TEST_OVERRIDE_WORKDIR=" + directory, "cf-agent", "-K"}
}

// cfWorkFolder makes a directory with keys and the policy in its proper place,
// where cf-agent has it checked by cf-promises only when it changed.
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
		fmt.Sprintf("  \"%s\" perms => m, copy_from => cp(\"%s\"), depth_search => rec;\n}\n", p.dest, p.source)
}

func cfFolder(dir string) string {
	return fmt.Sprintf("  \"%s/.\" create => \"true\", perms => m;\n", dir)
}

func cfPromises(p place, compare string) string {
	var b strings.Builder
	fmt.Fprintf(&b, cfBodies, compare)
	b.WriteString(cfFolder(p.dest))
	for _, d := range directories(p.n) {
		b.WriteString(cfFolder(filepath.Join(p.dest, d)))
	}
	for i := range p.n {
		fmt.Fprintf(&b, "  \"%s/%s\" perms => m, copy_from => cp(\"%s/%s\");\n", p.dest, name(i), p.source, name(i))
	}
	b.WriteString("}\n")
	return b.String()
}
