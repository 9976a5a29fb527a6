package step

import (
	"slices"
	"strings"
)

// Reverse shows users the effect of rolling back the whole list: the inverse of each step, last
// step first. It uses only the list, not the state of a host. If only the journal determines the
// inverse, the line is a comment. ACT, WAIT and CHECK change nothing and have no inverse.
func Reverse(l List) []string {
	var out []string
	for _, s := range slices.Backward(l) {
		if line := s.inverse(); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// inverse returns one line without newline, "" if there is nothing to undo.
func (s Step) inverse() string {
	if len(s.Args) == 0 {
		return ""
	}
	switch s.Verb {
	case Act, Wait, Check:
		return ""
	case Mkdir:
		return string(appendSubject([]byte("RMDIR "), s.Args[0]))
	case Copy, Link:
		return Step{Verb: Rm, Args: s.Args[1:]}.String()
	case Exec:
		return s.inverseExec()
	case Unit:
		return s.inverseUnit()
	case Edit, User, Group, Member, Pkg:
		return s.inverseEnsure()
	}
	return s.comment("as it was found")
}

// comment returns a line that no host would run.
func (s Step) comment(why string) string {
	b := append([]byte("# "), s.Verb...)
	for _, a := range s.Args[:min(2, len(s.Args))] {
		b = appendSubject(append(b, ' '), a)
		if s.Verb != Member {
			break
		}
	}
	return string(b) + ": " + why
}

func (s Step) inverseExec() string {
	undo, ok := s.Lookup("undo")
	words, err := SplitWords(undo)
	if !ok || err != nil {
		return s.comment("irreversible")
	}
	return Step{Verb: Exec, Args: append([]string{s.Args[0]}, words...)}.String()
}

// inverseUnit turns every switch of a unit the other way.
func (s Step) inverseUnit() string {
	opposite := map[string]string{"true": "false", "false": "true"}
	back := Step{Verb: Unit, Args: s.Args}
	for _, a := range s.Attrs {
		back.Attrs = append(back.Attrs, Attr{Key: a.Key, Value: opposite[a.Value]})
	}
	return back.String()
}

// inverseEnsure makes the step's address absent. A step that made something absent has an inverse
// only in the journal.
func (s Step) inverseEnsure() string {
	if s.Absent() {
		return s.comment("as it was found")
	}
	back := Step{Verb: s.Verb, Args: s.Args}
	for _, a := range s.Attrs {
		if s.Verb == Edit && strings.Contains(" block line match key comment ", " "+a.Key+" ") {
			back.Attrs = append(back.Attrs, a)
		}
	}
	back.Attrs = append(back.Attrs, Attr{Key: "ensure", Value: "absent"})
	return back.String()
}
