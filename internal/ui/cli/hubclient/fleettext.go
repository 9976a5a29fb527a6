package hubclient

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/ui/cli"
)

// RevisionText is a revision in one line: commit, branch, and age.
func RevisionText(r *fleet.Revision) string {
	if r == nil {
		return ""
	}
	return cli.JoinWords(Short(r.Commit), r.Subject, Parted("on ", r.Branch))
}

// Short is the abbreviated commit.
func Short(commit string) string { return commit[:min(12, len(commit))] }

// Parted is text behind a word, where there is text.
func Parted(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// ClockText says of a clock that is wrong how far it is.
func ClockText(ahead time.Duration) string {
	switch {
	case ahead > 0:
		return ahead.Round(time.Second).String() + " ahead of the hub's"
	case ahead < 0:
		return (-ahead).Round(time.Second).String() + " behind the hub's"
	}
	return ""
}

// Applied is how many modules are as they are assigned.
func Applied(modules, behind int) string { return fmt.Sprintf("%d/%d", modules-behind, modules) }

// DirectoryName is the name of a module for users.
func DirectoryName(module string) string { return strings.TrimPrefix(module, "modules/") }

// HeldText returns the held content of a target, one line for each part.
func HeldText(all []fleet.HeldContent) string {
	var lines []string
	for _, h := range all {
		lines = append(lines, strings.Join(h.Parts, ", ")+" "+h.Text)
	}
	return strings.Join(lines, "\n")
}

// AgoText formats the time since a moment.
func AgoText(s *cli.Printer, ns int64) string {
	if ns == 0 {
		return "never"
	}
	d := s.App.Now().Sub(time.Unix(0, ns))
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= u.of {
			return fmt.Sprintf("%d%s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
}
