package apt

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
)

// aptTimeout limits one transaction. Killing dpkg leaves packages half done, so it is far longer
// than any transaction.
const aptTimeout = 2 * time.Hour

const (
	scriptLines   = 8
	reasonLines   = 12
	suggestBelow  = 3 // edits between a name and its suggestion
	shownVersions = 5
)

// aptError summarizes the output of a failed apt or dpkg: its own error lines, the failed script
// with its last lines, and the remedy.
func (p *packages) aptError(ctx context.Context, inv inventory, r host.CommandResult) error {
	if r.TimedOut {
		return fmt.Errorf("cannot change packages: apt took longer than %s and was ended; "+
			"run fettle again, which first finishes the interrupted change", aptTimeout)
	}
	f := readFailure(string(r.Stdout), string(r.Stderr))
	blame := func(text string) error { return &host.PackagesError{Names: f.names(inv), Err: errors.New(text)} }
	if r.ExitCode < 0 && len(f.errors)+len(f.scripts) == 0 {
		return errors.New("cannot change packages: apt or dpkg was killed by a signal; " +
			"run fettle again, which first finishes the interrupted change")
	}
	var parts []string
	for _, s := range f.scripts {
		parts = append(parts, s.text())
	}
	for _, e := range f.errors {
		if len(f.scripts) > 0 && strings.HasPrefix(e, "Sub-process ") {
			continue
		}
		parts = append(parts, strings.TrimSuffix(e, "."))
	}
	parts = append(parts, f.unmet...)
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("it ended with status %d: %s", r.ExitCode,
			lastOf(string(r.Stderr), string(r.Stdout))))
	}
	text := "cannot change packages: " + strings.Join(parts, "; ") + f.because()
	if hint := p.hint(ctx, f); hint != "" {
		text += ". " + hint
	}
	return blame(text)
}

// failure is the information in the output of apt and dpkg.
type failure struct {
	errors  []string // apt's, without "E: "
	reasons []string // the indented lines below apt's errors, with their own indentation
	scripts []scriptFailure
	unmet   []string // "NAME: Depends: OTHER (= 1) but …"
}

// because returns the reasons as an indented block, "" if there are none. The first lines name the
// conflict; the rest of a long explanation repeats its causes.
func (f failure) because() string {
	shown := f.reasons
	if len(shown) > reasonLines {
		shown = append(slices.Clone(shown[:reasonLines]), fmt.Sprintf("… and %d more lines", len(f.reasons)-reasonLines))
	}
	if len(shown) == 0 {
		return ""
	}
	return "\n    " + strings.Join(shown, "\n    ") + "\n"
}

// reasonsBelow returns the lines that belong to an error of apt, from the beginning of lines: APT 3
// explains an error on the indented lines after it.
func reasonsBelow(lines []string) []string {
	var out []string
	for _, line := range lines {
		text, indented := strings.CutPrefix(line, "   ")
		if !indented || strings.TrimSpace(text) == "" {
			break
		}
		out = append(out, strings.TrimRight(text, " "))
	}
	return out
}

// names are the packages that the output names as the cause.
func (f failure) names(inv inventory) []string {
	var out []string
	add := func(name string) {
		if name = inv.key(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, s := range f.scripts {
		add(s.pkg)
	}
	for _, e := range f.errors {
		add(namedIn(e))
	}
	for _, line := range f.unmet {
		name, _, _ := strings.Cut(line, ": ")
		add(name)
	}
	return out
}

// namedIn is the package that a line of apt is about, "" when it is about none.
func namedIn(e string) string {
	quoted := strings.FieldsFunc(e, func(r rune) bool { return strings.ContainsRune("‘’'", r) })
	f := strings.Fields(e)
	switch {
	case strings.HasPrefix(e, "Unable to locate package "):
		return f[len(f)-1]
	case strings.HasPrefix(e, "Version ") && len(quoted) > 3:
		return quoted[3]
	case strings.HasPrefix(e, "Package ") && strings.Contains(e, "has no installation candidate") && len(quoted) > 1:
		return quoted[1]
	case strings.HasPrefix(e, "The package ") && strings.Contains(e, " needs to be reinstalled"):
		return f[2]
	case strings.HasPrefix(e, "Failed to fetch ") && len(f) > 3 && strings.HasSuffix(f[3], ".deb"):
		return inArchive(f[3])
	}
	return ""
}

// unmetDependencies reads apt's output about incompatible versions: " NAME : Depends: OTHER (= 1)
// but …", with more lines of the same package below.
func unmetDependencies(stdout string) []string {
	_, list, ok := strings.Cut(stdout, "The following packages have unmet dependencies:\n")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		if name, why, ok := strings.Cut(strings.TrimSpace(line), " : "); ok {
			out = append(out, name+": "+strings.Join(strings.Fields(why), " "))
		}
	}
	return out
}

// scriptFailure is one package that dpkg could not process.
type scriptFailure struct {
	pkg, reason string
	output      []string // last lines of its script
}

func (s scriptFailure) text() string {
	out := s.pkg + ": " + s.reason
	if len(s.output) > 0 {
		out += "\n    " + strings.Join(s.output, "\n    ") + "\n"
	}
	return out
}

// readFailure parses the output of apt-get and dpkg. Only the message of the error depends on it,
// never a decision.
func readFailure(stdout, stderr string) failure {
	f := failure{unmet: unmetDependencies(stdout)}
	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		if e, ok := strings.CutPrefix(line, "E: "); ok {
			f.errors = append(f.errors, e)
			f.reasons = append(f.reasons, reasonsBelow(lines[i+1:])...)
			continue
		}
		if e, ok := strings.CutPrefix(line, "dpkg: error: "); ok {
			f.errors = append(f.errors, e)
			continue
		}
		rest, ok := strings.CutPrefix(line, "dpkg: error processing ")
		if !ok {
			continue
		}
		s := scriptFailure{pkg: processed(rest)}
		if i+1 < len(lines) {
			s.reason = strings.TrimSpace(lines[i+1])
		}
		s.output = append(scriptOutput(stdout, s.pkg), own(lines[:i])...)
		if len(s.output) > scriptLines {
			s.output = s.output[len(s.output)-scriptLines:]
		}
		f.scripts = append(f.scripts, s)
	}
	return f
}

// processed finds the package in "package NAME (--configure):" and in
// "archive PATH (--unpack):".
func processed(rest string) string {
	name, _, _ := strings.Cut(rest, " (")
	if archive, ok := strings.CutPrefix(name, "archive "); ok {
		return inArchive(archive)
	}
	return strings.TrimPrefix(name, "package ")
}

// inArchive is the package whose file this is, by its name.
func inArchive(file string) string {
	name, _, _ := strings.Cut(path.Base(file), "_")
	return name
}

// scriptOutput returns the output after "Setting up NAME" and similar lines.
func scriptOutput(stdout, pkg string) []string {
	lines := strings.Split(strings.TrimRight(stdout, "\n"), "\n")
	start := -1
	for i, l := range lines {
		for _, verb := range []string{"Setting up ", "Removing ", "Unpacking ", "Purging configuration files for ",
			"Preparing to unpack ", "Processing triggers for "} {
			about, ok := strings.CutPrefix(l, verb)
			if !ok {
				continue
			}
			about, _, _ = strings.Cut(about, " ")
			start = -1
			if about == pkg || verb == "Preparing to unpack " && inArchive(about) == pkg {
				start = i
			}
		}
		if start >= 0 && strings.HasPrefix(l, "Errors were encountered") {
			return own(lines[start+1 : i])
		}
	}
	if start < 0 {
		return nil
	}
	return own(lines[start+1:])
}

// own removes empty lines, and lines of dpkg, apt and debconf.
func own(lines []string) []string {
	var out []string
	for _, l := range lines {
		foreign := slices.ContainsFunc([]string{"dpkg: ", "E: ", "W: ", "N: ", "debconf: delaying "},
			func(prefix string) bool { return strings.HasPrefix(l, prefix) })
		if strings.TrimSpace(l) != "" && !foreign {
			out = append(out, l)
		}
	}
	return out
}

func lastOf(texts ...string) string {
	for _, t := range texts {
		lines := strings.Split(strings.TrimSpace(t), "\n")
		if l := lines[len(lines)-1]; l != "" {
			return l
		}
	}
	return "it printed nothing"
}

// hint returns the remedy for the first known error.
func (p *packages) hint(ctx context.Context, f failure) string {
	for _, e := range f.errors {
		switch {
		case strings.HasPrefix(e, "Unable to locate package "):
			return p.unknownPackage(ctx, strings.TrimPrefix(e, "Unable to locate package "))
		case strings.HasPrefix(e, "Version ") && strings.HasSuffix(e, " was not found"):
			return p.unknownVersion(ctx, e)
		case strings.Contains(e, "has no installation candidate"):
			return "apt knows the name of the package, but no version. Run apt-get update, then fettle again"
		case strings.HasPrefix(e, "Failed to fetch "), strings.HasPrefix(e, "Unable to fetch "):
			return "The archive does not have the file any more, or cannot be reached. Run apt-get update, then fettle again"
		case strings.HasPrefix(e, "dpkg was interrupted"):
			return "Run fettle again: it first finishes the interrupted change"
		case strings.HasPrefix(e, "Essential packages were removed"):
			return "fettle does not remove essential packages; remove from the list the step that removes or conflicts with them"
		case strings.Contains(e, "held broken packages"), strings.Contains(e, "generated breaks"):
			return "The versions in the list conflict with each other: " +
				"\"apt-get install --simulate\" with these versions prints the conflicting dependency"
		}
	}
	if len(f.scripts) > 0 {
		return "Correct the problem that the script reports, then run fettle again: it first finishes the configuration of the package"
	}
	return ""
}

// unknownPackage suggests the nearest known name for a package unknown to apt.
func (p *packages) unknownPackage(ctx context.Context, name string) string {
	const update = "If it is new in the archive, run apt-get update, then fettle again"
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"apt-cache", "pkgnames"}, Timeout: time.Minute})
	if err != nil || r.ExitCode != 0 {
		return update
	}
	if near := diag.Nearest(name, strings.Fields(string(r.Stdout)), suggestBelow); near != "" {
		return fmt.Sprintf("Did you mean %q? %s", near, update)
	}
	return update
}

// unknownVersion lists the versions that there are. e is apt's
// "Version ‘1’ for ‘name’ was not found".
func (p *packages) unknownVersion(ctx context.Context, e string) string {
	f := strings.FieldsFunc(e, func(r rune) bool { return strings.ContainsRune("‘’'", r) })
	if len(f) < 4 {
		return ""
	}
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"apt-cache", "show", "--all-versions", "--", f[3]},
		Timeout: time.Minute})
	if err != nil || r.ExitCode != 0 {
		return ""
	}
	var versions []string
	for line := range strings.Lines(string(r.Stdout)) {
		if v, ok := strings.CutPrefix(line, "Version: "); ok {
			versions = append(versions, strings.TrimSpace(v))
		}
	}
	sort.Slice(versions, func(i, j int) bool { return debver.Compare(versions[i], versions[j]) > 0 })
	return knownVersions(versions)
}

// knownVersions lists the versions of a package that apt offers, the newest first.
func knownVersions(versions []string) string {
	const update = "If the version is new in the archive, run apt-get update, then fettle again"
	switch n := len(versions); {
	case n == 0:
		return update
	case n == 1:
		return fmt.Sprintf("apt knows %s. %s", versions[0], update)
	case n > shownVersions:
		return fmt.Sprintf("apt knows %s and %d older ones. %s", strings.Join(versions[:shownVersions], ", "),
			n-shownVersions, update)
	default:
		return fmt.Sprintf("apt knows %s and %s. %s", strings.Join(versions[:n-1], ", "), versions[n-1], update)
	}
}
