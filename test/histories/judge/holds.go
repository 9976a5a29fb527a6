package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Holds describes the differences of a tree from a list, one sentence each.
func Holds(l List, blobs map[string]string, t Tree) []string {
	var wrong []string
	for _, s := range l {
		if why := s.holds(l, blobs, t); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s does not hold: %s", s.Line, why))
		}
	}
	return wrong
}

func (s Step) holds(l List, blobs map[string]string, t Tree) string {
	have := t[s.Path()]
	switch s.Verb {
	case "MKDIR":
		if have.Type != 'd' {
			return "it is " + have.String()
		}
		if s.Attr["purge"] == "true" {
			for p := range t {
				if parentOf(s.Path(), p) && !l.declares(p) {
					return p + " is there"
				}
			}
		}
		return s.dress(have, "", "")
	case "COPY":
		if have.Type != 'f' || have.Data != blobs[s.Args[0]] {
			return "it is " + have.String()
		}
		return s.dress(have, "0", "0644")
	case "LINK":
		if have.Type != 'l' || have.Data != s.Args[0] {
			return "it is " + have.String()
		}
		return s.dress(have, "0", "")
	case "RM":
		if have.Type != 0 {
			return "it is " + have.String()
		}
	case "META":
		if have.Type == 0 {
			return "there is nothing"
		}
		return s.dress(have, "", "")
	case "EDIT":
		return s.edited(have)
	}
	return ""
}

// dress compares owner, group and mode with the step, or otherwise with the defaults.
func (s Step) dress(have Leaf, owner, mode string) string {
	want := func(key, otherwise string) string {
		if v, ok := s.Attr[key]; ok {
			return v
		}
		return otherwise
	}
	number := func(v string) string {
		if v == "root" {
			return "0"
		}
		return v
	}
	if m := want("mode", mode); m != "" && have.Type != 'l' {
		if n, err := strconv.ParseUint(m, 8, 32); err != nil || uint32(n) != have.Mode {
			return fmt.Sprintf("the mode is %04o", have.Mode)
		}
	}
	if o := number(want("owner", owner)); o != "" && o != fmt.Sprint(have.UID) {
		return fmt.Sprintf("the owner is %d", have.UID)
	}
	if g := number(want("group", owner)); g != "" && g != fmt.Sprint(have.GID) {
		return fmt.Sprintf("the group is %d", have.GID)
	}
	return ""
}

func (s Step) edited(have Leaf) string {
	absent := s.Attr["ensure"] == "absent"
	if have.Type == 0 && absent {
		return ""
	}
	if have.Type != 'f' {
		return "it is " + have.String()
	}
	got, there := s.region(have.Data)
	switch want := s.want(); {
	case absent && there:
		return fmt.Sprintf("%q is there in %q", got, have.Data)
	case !absent && (!there || got != want):
		return fmt.Sprintf("%q and not %q in %q", got, want, have.Data)
	}
	return ""
}

func (s Step) want() string {
	switch {
	case s.Attr["block"] != "":
		return s.Attr["content"]
	case s.Attr["line"] != "":
		return s.Attr["line"]
	}
	return s.Attr["value"]
}

// region returns the region of the step in a text.
func (s Step) region(text string) (string, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch {
	case s.Attr["block"] != "":
		_, rest, ok := strings.Cut(text, "# BEGIN fettle "+s.Attr["block"]+"\n")
		in, _, end := strings.Cut(rest, "# END fettle "+s.Attr["block"])
		return in, ok && end
	case s.Attr["match"] != "":
		re := regexp.MustCompile(s.Attr["match"])
		for i := len(lines) - 1; i >= 0; i-- {
			if re.MatchString(lines[i]) {
				return lines[i], true
			}
		}
		return "", false
	case s.Attr["line"] != "":
		for _, l := range lines {
			if l == s.Attr["line"] {
				return l, true
			}
		}
		return "", false
	case s.Attr["format"] == "json":
		return jsonValue(text, strings.Split(s.Attr["key"], "."))
	case s.Attr["format"] == "ini":
		return iniValue(lines, s.Attr["key"])
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(lines[i], "="); ok && k == s.Attr["key"] {
			return v, true
		}
	}
	return "", false
}

func jsonValue(text string, keys []string) (string, bool) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err.Error(), false
	}
	for _, k := range keys {
		m, _ := v.(map[string]any)
		next, ok := m[k]
		if !ok {
			return "", false
		}
		v = next
	}
	b, err := json.Marshal(v)
	return string(bytes.TrimSpace(b)), err == nil
}

func iniValue(lines []string, key string) (string, bool) {
	section, name, _ := strings.Cut(key, ".")
	in := ""
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") {
			in = strings.Trim(l, "[]")
		} else if k, v, ok := strings.Cut(l, "="); ok && in == section && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}
