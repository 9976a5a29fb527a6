package e2e

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

var updatePage = flag.Bool("update", false, "rewrite the output of commands in documents")

// typedPages are the pages whose commands are typed on hosts, in this order.
func typedPages() []string { return []string{"quickstart", "api"} }

// hostBlock is a block of a page: "console", the host, and the commands with their output.
var hostBlock = regexp.MustCompile("(?s)\n```console ([a-z0-9]+)\n(.*?)\n```")

// TestQuickstart types the commands of docs/quickstart.md and docs/api.md on hosts, in their order,
// and compares the output. -update rewrites the output on the pages; read the difference like code.
func TestQuickstart(t *testing.T) {
	sample.Group(t, 1)
	t.Parallel()
	typists := quickstartHosts(t)
	for _, name := range typedPages() {
		file := "../../docs/" + name + ".md"
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := typedPage(t, string(page), typists)
		if *updatePage {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		samePage(t, file, got)
	}
}

// typedPage returns a page with the output that its commands have now.
func typedPage(t *testing.T, page string, typists map[string]*machine) string {
	return hostBlock.ReplaceAllStringFunc(page, func(block string) string {
		part := hostBlock.FindStringSubmatch(block)
		m := typists[part[1]]
		if m == nil {
			t.Fatalf("a page types commands on %q, which is not a host of this test", part[1])
		}
		return "\n```console " + part[1] + "\n" + m.typed(part[2]) + "\n```"
	})
}

func samePage(t *testing.T, file, got string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, have := strings.Split(stableText(string(page)), "\n"), strings.Split(stableText(got), "\n")
	for i := range min(len(want), len(have)) {
		if want[i] != have[i] {
			t.Fatalf("%s shows\n  %s\nand the output is\n  %s\nAfter: %s\nRun: go test ./test/e2e -run TestQuickstart -update",
				file, want[i], have[i], lastCommand(want[:i]))
		}
	}
	if len(want) != len(have) {
		t.Fatalf("%s has %d lines, and the output makes %d", file, len(want), len(have))
	}
}

// quickstartHosts boots a host for each name on the page, and ten servers that the workstation
// reaches by name. The other hosts have fettle.
func quickstartHosts(t *testing.T) map[string]*machine {
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	names := []string{"desk", "hub1", "one"}
	for i := range 10 {
		names = append(names, fmt.Sprintf("web%d", i+1))
	}
	ms := make([]*machine, len(names))
	var boot sync.WaitGroup
	for i, name := range names {
		boot.Go(func() {
			ms[i] = &machine{Host: w.Boot(t, name, hosts.Options{Repo: repo}), t: t}
			ms[i].settle()
		})
	}
	boot.Wait()
	table := "127.0.0.1 localhost\n"
	for i, m := range ms {
		table += m.Addr + " " + names[i] + "\n"
	}
	desk, hub := ms[0], ms[1]
	for _, m := range ms[:3] {
		m.Run(t, "apt-get", "install", "-qy", "--no-install-recommends", "git", "curl")
		m.Copy(t, sharedDeb(t), "/root/fettle.deb")
		m.installDeb()
	}
	desk.Run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519")
	desk.WriteFile(t, "/root/.gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n", 0o600)
	key := desk.ReadFile(t, "/root/.ssh/id_ed25519.pub")
	for _, m := range ms {
		m.WriteFile(t, "/etc/hosts", table, 0o644)
	}
	for _, m := range ms[1:] {
		m.Run(t, "install", "-d", "-m", "0700", "/root/.ssh")
		m.WriteFile(t, "/root/.ssh/authorized_keys", key, 0o600)
		m.answersSSH()
	}
	desk.Run(t, "sh", "-c", "ssh-keyscan "+strings.Join(names[1:], " ")+" >/root/.ssh/known_hosts 2>/dev/null")
	return map[string]*machine{"desk": desk, "hub1": hub, "one": ms[2]}
}

// typed types the commands of one block into a shell of a host that stays in its directory, and
// returns the block with the present output.
func (m *machine) typed(block string) string {
	m.t.Helper()
	var out []string
	lines := strings.Split(block, "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue
		}
		out = append(out, lines[i])
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			command += "\n" + strings.TrimPrefix(lines[i], "> ")
			out = append(out, lines[i])
		}
		out = append(out, m.type1(command)...)
	}
	return strings.Join(out, "\n")
}

// type1 types one command, and returns the lines of its output and its exit code. Progress of
// several targets has no order, so its lines are sorted.
func (m *machine) type1(command string) []string {
	m.t.Helper()
	const shell = `cd "$(cat /root/.where 2>/dev/null || echo /root)"; exec 2>&1; eval "$1"; code=$?; pwd >/root/.where; exit $code`
	r := m.Exec("env", "HOME=/root", "NO_COLOR=1", "timeout", "-k", "1", "300", "sh", "-c", shell, "sh", command)
	m.t.Logf("%s$ %s => %d\n%s", m.Name, command, r.ExitCode, r.Stdout)
	var out, progress []string
	for _, line := range strings.Split(strings.TrimRight(r.Stdout, "\n"), "\n") {
		if ofOneTarget.MatchString(line) {
			progress = append(progress, line)
			continue
		}
		out = append(append(out, slices.Sorted(slices.Values(progress))...), line)
		progress = nil
	}
	out = slices.DeleteFunc(append(out, slices.Sorted(slices.Values(progress))...),
		func(s string) bool { return s == "" && len(out) == 1 })
	if r.ExitCode != 0 {
		out = append(out, fmt.Sprintf("(ends with %d)", r.ExitCode))
	}
	return out
}

// ofOneTarget is a line of progress: the result of one of several targets.
var ofOneTarget = regexp.MustCompile(`^  [a-z ]+ +web\d+  `)

// changing are the parts of an output that differ between two runs of the same commands.
var changing = regexp.MustCompile(`sha256:[0-9a-f]{8,}|\b[0-9a-f]{7,64}\b|\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?|\b\d+(\.\d+)? ?(ms|s|m|h)\b|\d+(\.\d+){1,3}\S*|\d+%|\d+ [KMG]i?B|just now| +`)

func stableText(text string) string {
	return changing.ReplaceAllStringFunc(text, func(part string) string {
		if strings.HasPrefix(part, " ") {
			return " "
		}
		return "…"
	})
}

// lastCommand returns the last command in lines.
func lastCommand(lines []string) (command string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "$ ") {
			command = line
		}
	}
	return command
}

// TestStableText: outputs that differ in their times are equal, and other texts are not.
func TestStableText(t *testing.T) {
	if a, b := stableText("Applied in 38ms: 1 changed (run 1)."),
		stableText("Applied in  1.2s: 1 changed (run 1)."); a != b {
		t.Errorf("%q and %q differ", a, b)
	}
	if a, b := stableText("1 changed"), stableText("2 changed"); a == b {
		t.Errorf("%q and %q are equal", a, b)
	}
}
