package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// EmptyVerdicts are the verdicts that a scope without members can have. The first is the default.
func EmptyVerdicts() []string { return []string{"empty", "failed"} }

// readScopes reads the blocks of scopes and of their kinds. Expressions of an environment can name its parents, so all
// environments are known before the first check. for_each needs a program without an error.
func (p *Program) readScopes(good bool) diag.List {
	x := scopeBlock{rolloutBlock{parser: &parser{prog: p, body: p.Root, top: true}}}
	for _, b := range p.scopeBlocks {
		x.read(b, good)
	}
	if good && !x.List.HasErrors() {
		x.environments()
	}
	good = good && !x.List.HasErrors()
	for _, s := range p.Scopes {
		if good || s.Environment == nil {
			x.in(s, func() { x.parts(s) })
		}
	}
	if good && !x.List.HasErrors() {
		x.inherited()
	}
	return x.List
}

// inherited gives dynamic environments the checks of their parents that have branches = true. The checks use the name,
// the domain and the parent of the dynamic environment. An error concerns only its members.
func (x scopeBlock) inherited() {
	for _, s := range x.prog.Scopes {
		if !slices.ContainsFunc(s.Checks, func(c ScopeCheck) bool { return c.Branches }) {
			continue
		}
		for _, e := range x.prog.Dynamic {
			if e.Parent == s.Name && s.Environment != nil && e.Errors == nil {
				of := &Scope{Kind: s.Kind, Name: e.Name, Members: s.Members, Environment: e, block: s.block, Each: s.Each}
				y := scopeBlock{rolloutBlock{parser: &parser{prog: x.prog, body: x.prog.Root, top: true}}}
				y.in(of, func() { y.inheritedChecks(s, of) })
				e.Checks, e.Errors = of.Checks, y.List
			}
		}
	}
}

// inheritedChecks reads the checks of a scope for an environment that has some of them.
func (x scopeBlock) inheritedChecks(from, of *Scope) {
	for _, sub := range from.block.Body.Blocks {
		name, _, _ := x.label(sub)
		i := slices.IndexFunc(from.Checks, func(c ScopeCheck) bool { return c.Name == name })
		if sub.Type == "check" && i >= 0 && from.Checks[i].Branches {
			x.check(sub, of)
		}
	}
}

// read adds the scopes of a block to the program.
func (x scopeBlock) read(b *hclsyntax.Block, good bool) {
	name, r, ok := x.label(b)
	if !ok || !x.named(name, r) {
		return
	}
	a := b.Body.Attributes
	switch g := x.generator(a, 1); {
	case b.Type == "scope_kind":
		x.kind(b, name, r)
	case g == nil:
		s := &Scope{Name: name, Range: r, block: b}
		x.in(s, func() { x.scope(s) })
	case good:
		x.generate(b, name, g)
	}
}

// named reports a name that hubs cannot use as a key.
func (x scopeBlock) named(name string, r diag.Range) bool {
	ok := lockName().MatchString(name) && len(name) <= maxLockName
	if !ok {
		x.Errorf(r, "Bad name for a scope",
			"%q is not a valid name. Use up to %d letters, digits, _ and -, and begin with a letter.", name, maxLockName)
	}
	return ok
}

// generate adds a scope for each element of for_each, until an element has an error.
func (x scopeBlock) generate(b *hclsyntax.Block, name string, g *generatorOf) {
	elements, ok := x.prog.elements(&x.Reports, g.each.Expr, nil, name, b.Type, MaxScopes)
	if ok && len(elements) < g.atLeast {
		x.Errorf(syntax.RangeOf(g.each.Expr.Range()), "Too few scopes",
			"for_each of the %s block %q has %s, and at_least is %d. If so few elements are correct, lower at_least.", b.Type,
			name, count(len(elements)), g.atLeast)
	}
	before := len(x.List)
	for _, e := range elements {
		s := &Scope{Name: e.Key, Range: syntax.RangeOf(b.LabelRanges[0]), block: b, Each: e}
		x.in(s, func() {
			at := e.Range
			if g.name != nil {
				at, s.Name = syntax.RangeOf(g.name.Expr.Range()), x.textIn(g.name)
			}
			if len(x.List) == before && x.named(s.Name, at) {
				x.scope(s)
			}
		})
		if len(x.List) > before {
			return
		}
	}
}

// in calls a function with the values that expressions of a scope can use, and adds the element to its errors.
func (x scopeBlock) in(s *Scope, fn func()) {
	x.prog.Loops.Begin()
	if s.Each != nil || s.Environment != nil {
		x.values = map[string]cty.Value{}
	}
	if s.Each != nil {
		x.values["each"] = cty.ObjectVal(s.Each.Each())
	}
	if s.Environment != nil {
		x.values["environment"] = s.Environment.Value()
	}
	before := len(x.List)
	fn()
	x.values = nil
	for i := range x.List[before:] {
		if s.Each != nil {
			x.List[before+i].Detail += " Here, each is the " + s.Each.String() + "."
		}
	}
}

func (x scopeBlock) kind(b *hclsyntax.Block, name string, r diag.Range) {
	x.only(b, []string{"description", "enabled", "overlap", "empty", "executor"}, nil)
	i := slices.IndexFunc(x.prog.ScopeKinds, func(k *ScopeKind) bool { return k.Name == name })
	switch {
	case i >= 0:
		x.Errorf(r, "Kind of scope declared twice", "The scope_kind %q is already declared at %s. Remove one of the two.",
			name, x.prog.ScopeKinds[i].Range)
		return
	case len(x.prog.ScopeKinds) == MaxScopeKinds:
		x.Errorf(r, "Too many blocks", "A repository can declare %d blocks of the type scope_kind.", MaxScopeKinds)
		return
	}
	at := b.Body.Attributes
	if a := at["overlap"]; name == EnvironmentKind && a != nil && x.boolOf(at, "overlap", false) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Environments that overlap",
			"A target has the variables of one environment, so overlap of the kind environment must be false.")
	}
	executor := x.choice(at["executor"], Executors())
	if name == UniverseKind && at["executor"] == nil {
		executor = HubExecutor
	}
	x.prog.ScopeKinds = append(x.prog.ScopeKinds, &ScopeKind{Name: name, Range: r, Executor: executor,
		Description: x.textIn(at["description"]), Disabled: !x.boolOf(at, "enabled", true),
		Overlap: x.boolOf(at, "overlap", name != EnvironmentKind), Empty: x.choice(at["empty"], EmptyVerdicts())})
}

// scope reads the attributes of a scope. Its checks and tasks are read later.
func (x scopeBlock) scope(s *Scope) {
	b := s.block
	known := []string{"description", "targets", "labels", "min_members", "for_each", "name", "at_least"}
	switch b.Type {
	case "environment":
		known = append(known, "parent", "domain", "vars", "data", "merge")
	case "scope":
		known = append(known, "scopes", "kind")
	default:
		known = append(known, "scopes")
	}
	x.only(b, known, []string{"check", "task"})
	at := b.Body.Attributes
	s.Kind, s.Description, s.afters = b.Type, x.textIn(at["description"]), map[string]diag.Range{}
	if b.Type == "scope" {
		if s.Kind = x.textIn(at["kind"]); at["kind"] == nil {
			x.Errorf(s.Range, "Scope without a kind", `Set kind, the name of a scope_kind block: kind = "rack".`)
			return
		}
		if s.Kind == EnvironmentKind {
			x.Errorf(syntax.RangeOf(at["kind"].Expr.Range()), "Environment as a scope",
				"A scope of the kind environment has a block of its own: environment %q { … }.", s.Name)
			return
		}
	}
	if !x.added(s) {
		return
	}
	if x.members(at, s); s.Kind == EnvironmentKind {
		x.environment(at, s)
	}
	s.MinMembers = x.whole(at["min_members"], 0, 0, MaxMembers)
}

// parts reads the checks and tasks of a scope.
func (x scopeBlock) parts(s *Scope) {
	x.checkMembers(s)
	for _, sub := range s.block.Body.Blocks {
		switch sub.Type {
		case "check":
			x.check(sub, s)
		case "task":
			x.task(sub, s)
		}
	}
	x.conditions(s)
}

// added adds the scope, unless its name is in use.
func (x scopeBlock) added(s *Scope) bool {
	i := slices.IndexFunc(x.prog.Scopes, func(old *Scope) bool { return old.ID() == s.ID() })
	switch {
	case i >= 0:
		x.Errorf(s.Range, "Scope declared twice", "The scope %q is already declared at %s. Rename or remove one of the two.",
			s.ID(), x.prog.Scopes[i].Range)
		return false
	case len(x.prog.Scopes) == MaxScopes:
		x.Errorf(s.Range, "Too many scopes", "A repository can declare %d scopes.", MaxScopes)
		return false
	}
	x.prog.Scopes = append(x.prog.Scopes, s)
	return true
}

func (x scopeBlock) members(at hclsyntax.Attributes, s *Scope) {
	targets, scopes := at["targets"] != nil || at["labels"] != nil, at["scopes"]
	switch {
	case targets && scopes != nil:
		x.Errorf(syntax.RangeOf(scopes.NameRange), "Two sorts of members",
			"The members of a scope are either targets or other scopes. Declare one more scope for the targets, and add it "+
				"to scopes.")
	case targets:
		m := x.targetSelector(at)
		s.Members = &m
	case scopes != nil:
		exprs, hds := hcl.ExprList(scopes.Expr)
		x.Add(syntax.FromHCL(hds)...)
		for _, e := range exprs {
			if v, ok := earlyOf(x.parser, e.(hclsyntax.Expression), cty.String); ok {
				s.Scopes = append(s.Scopes, ScopeMember{ID: v.AsString(), Range: syntax.RangeOf(e.Range())})
			}
		}
		if len(s.Scopes) > MaxScopes {
			x.Errorf(s.Range, "Too many scopes", "A scope can have %d scopes as members.", MaxScopes)
		}
	case s.Kind == EnvironmentKind: // the members of its children can be sufficient
		s.Members = &Selector{Names: []func(string) bool{}}
	}
}

// checkMembers reports a scope without members, unless hubs do its tasks: such a scope has none.
func (x scopeBlock) checkMembers(s *Scope) {
	at, hubs := s.block.Body.Attributes, x.prog.executor(s.Kind) == HubExecutor
	has := at["targets"] != nil || at["labels"] != nil || at["scopes"] != nil
	for _, name := range []string{"targets", "labels", "scopes", "min_members"} {
		if a := at[name]; hubs && a != nil {
			x.Errorf(syntax.RangeOf(a.NameRange), "Members of a scope of hubs",
				"Hubs do the tasks of scopes of the kind %s, so these scopes have no members. Remove %s.", s.Kind, name)
		}
	}
	if !hubs && !has && s.Kind != EnvironmentKind {
		x.Errorf(s.Range, "Scope without members",
			`Set targets = ["web*"], labels = { role = "db" }, or scopes = ["rack/a"]. To select all targets, write `+
				`targets = ["*"].`)
	}
}

func (x scopeBlock) task(b *hclsyntax.Block, s *Scope) {
	var used []string
	for _, t := range s.Tasks {
		used = append(used, t.Name)
	}
	name, r, ok := x.partName(b, used)
	if !ok {
		return
	}
	x.only(b, append(workAttributes(), "after", "triggers"), []string{"verify", "undo"})
	at, hubs := b.Body.Attributes, x.prog.executor(s.Kind) == HubExecutor
	if s.Members == nil && !hubs {
		x.Errorf(r, "Task without targets", "The members of this scope are scopes, which cannot run a command. Declare the "+
			"task in a scope whose members are targets.")
	}
	t := x.work(b, name, r, hubs)
	t.After = x.after(at["after"], s.afters, name)
	content := []any{t.Command, t.Input, x.triggers(at["triggers"]), t.Verify}
	if len(t.Secrets) > 0 { // other digests are stored, and must not change
		content = append(content, t.Secrets)
	}
	t.Digest = DigestOf(content)
	t.Undo = x.undo(b, name, hubs)
	x.inputLimit(t)
	s.Tasks = append(s.Tasks, t)
}

// workAttributes are the attributes of a task that its undo has too.
func workAttributes() []string {
	return []string{"command", "input", "retries", "retry_after", "timeout", "on_unknown", "secrets", "description"}
}

// work reads the attributes of a task or its undo, except for its digest.
func (x scopeBlock) work(b *hclsyntax.Block, name string, r diag.Range, hubs bool) ScopeTask {
	at := b.Body.Attributes
	t := ScopeTask{Name: name, Range: r, Command: x.argv(at["command"], r), Input: x.textIn(at["input"]),
		Retries:    x.whole(at["retries"], 0, 0, maxRetries),
		RetryAfter: x.between(at["retry_after"], "30s", 1, MaxWaitTime),
		Timeout:    x.between(at["timeout"], "10m", 1, maxTaskTime)}
	for _, sub := range b.Body.Blocks {
		if sub.Type != "verify" {
			continue
		}
		if x.only(sub, probeAttributes(), nil); t.Verify != nil {
			x.Errorf(headerOf(sub), "Block declared twice", "A %s can have one verify block.", b.Type)
		}
		p := x.probe(sub)
		t.Verify = &p
	}
	t.OnUnknown = x.onUnknown(at["on_unknown"], t.Verify != nil)
	t.Secrets = x.taskSecrets(at["secrets"], hubs)
	return t
}

// undo reads the undo of a task, or returns nil.
func (x scopeBlock) undo(b *hclsyntax.Block, name string, hubs bool) (out *ScopeTask) {
	for _, sub := range b.Body.Blocks {
		if sub.Type != "undo" {
			continue
		}
		x.only(sub, workAttributes(), []string{"verify"})
		if out != nil {
			x.Errorf(headerOf(sub), "Block declared twice", "A task can have one undo block.")
		}
		t := x.work(sub, name, headerOf(sub), hubs)
		t.Digest = DigestOf([]any{"undo", t.Command, t.Input, t.Verify, t.Secrets})
		out = &t
	}
	return out
}

// inputs returns the size of the inputs of a task and its undo, in bytes.
func (t ScopeTask) inputs() int {
	if t.Undo == nil {
		return len(t.Input)
	}
	return len(t.Input) + len(t.Undo.Input)
}

// inputLimit reports an input that is too long, and inputs that are too long together.
func (x scopeBlock) inputLimit(t ScopeTask) {
	total := t.inputs()
	for _, s := range x.prog.Scopes {
		for _, other := range s.Tasks {
			total += other.inputs()
		}
	}
	longest := len(t.Input)
	if t.Undo != nil {
		longest = max(longest, len(t.Undo.Input))
	}
	switch {
	case longest > maxTaskInput:
		x.Errorf(t.Range, "Input too long", "The input of a task can have %d bytes, and this one has %d.", maxTaskInput,
			longest)
	case total > maxInputs:
		x.Errorf(t.Range, "Input too long", "The inputs of all tasks together can have %d bytes.", maxInputs)
	}
}
