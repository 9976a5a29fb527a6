package assign_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/semver"
)

// world represents git and the compiler: the contents of commits.
type world struct {
	commits map[string]revision // by commit
	limits  []fleet.Limits      // of each usable commit
	scopes  query.Scopes        // of each usable commit
}

// revision is one commit: a root bundle, and modules for targets with labels.
type revision struct {
	top     string
	modules map[string]module // by name
	broken  string
}

type module struct {
	content  string
	selector string // "*", or name=value
	needs    []string
}

func commitOf(name string) string { return digest(name)[:40] }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func bundleOf(what, content string) fleet.Bundle {
	return fleet.Bundle{Digest: "sha256:" + digest(what+"\n"+content), Size: int64(len(content))}
}

func idOf(name string) fleet.TargetID {
	id := strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(digest("target " + name))[:25]
	return fleet.TargetID(id + "a")
}

func (m module) has(labels map[string]string) bool {
	k, v, _ := strings.Cut(m.selector, "=")
	return m.selector == "*" || labels[k] == v && m.selector != ""
}

// text returns the content with the constraints.
func (m module) text() string {
	text := m.content
	for _, n := range m.needs {
		if strings.Contains(n, ":") {
			text += "+" + n
		}
	}
	return text
}

// versioned returns the declarations about versions: the content is the version, if it is one.
func (m module) versioned(directory string) (v assign.Versioned) {
	if _, err := semver.Parse(m.content); err == nil && strings.Contains(m.content, ".") {
		v.Versions = map[string]string{directory: m.content}
	}
	for _, n := range m.needs {
		if name, constraint, ok := strings.Cut(n, ":"); ok {
			v.Requires = append(v.Requires, assign.Requirement{By: directory, Module: "modules/" + name, Version: constraint})
		}
	}
	return v
}

// contents returns the compiled commit for some targets.
func (w *world) contents(commit string, targets []fleet.Target) assign.Contents {
	r := w.commits[commit]
	c := assign.Contents{Revision: fleet.Revision{Repository: "site", Commit: commit, Time: 1},
		Enrolled: assign.EnrolledDigest(targets), Error: r.broken,
		Limits: w.limits, Scopes: w.scopes, Root: bundleOf("", r.top), Bundles: map[string]fleet.Bundle{},
		Targets: map[string]assign.Configured{}}
	if c.Error != "" {
		c.Limits, c.Scopes = nil, query.Scopes{}
	}
	c.Versions = map[string]assign.Versioned{}
	for name, m := range r.modules {
		c.Bundles["modules/"+name] = bundleOf(name, m.text())
		if v := m.versioned("modules/" + name); len(v.Versions)+len(v.Requires) > 0 {
			c.Versions["modules/"+name] = v
		}
	}
	for _, t := range targets {
		if t.Standing != fleet.Active {
			continue
		}
		conf := assign.Configured{Labels: t.Labels}
		for _, name := range slices.Sorted(maps.Keys(r.modules)) {
			m := r.modules[name]
			if !m.has(t.Labels) {
				continue
			}
			a := assign.Module{Directory: "modules/" + name, From: []string{"target group " + m.selector}}
			for _, n := range m.needs {
				n, constraint, _ := strings.Cut(n, ":")
				if v := r.modules[n].versioned(n); !semver.Fulfills(v.Versions[n], constraint) {
					conf.Errors = append(conf.Errors, "the module "+name+" needs another version of "+n)
				}
				if other, ok := r.modules[n]; !ok || !other.has(t.Labels) {
					conf.Errors = append(conf.Errors, "the module "+name+" needs "+n)
				}
				a.Needs = append(a.Needs, fleet.Need{Module: "modules/" + n, Level: fleet.Available})
			}
			conf.Modules = append(conf.Modules, a)
		}
		c.Targets[t.Name] = conf
	}
	return c
}

// input returns the input of a computation, as a hub creates it.
func (w *world) input(s *assign.State, now int64) assign.Input {
	revisions := map[string]assign.Contents{}
	in := s.Input(now, revisions)
	for _, commit := range assign.Needed(in) {
		if _, ok := w.commits[commit]; ok {
			revisions[commit] = w.contents(commit, in.Targets)
		}
	}
	return in
}

// parseModules reads NAME=CONTENT@SELECTOR[+NEED[:CONSTRAINT]…] and top=CONTENT.
func parseModules(words []string) revision {
	r := revision{modules: map[string]module{}}
	for _, w := range words {
		name, rest, _ := strings.Cut(w, "=")
		if name == "top" {
			r.top = rest
			continue
		}
		if name == "broken" {
			r.broken = "it is broken"
			continue
		}
		content, rest, _ := strings.Cut(rest, "@")
		parts := strings.Split(rest, "+")
		r.modules[name] = module{content: content, selector: parts[0], needs: parts[1:]}
	}
	return r
}

func byName(a, b fleet.Assignment) int { return cmp.Compare(a.Name, b.Name) }
