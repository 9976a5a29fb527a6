package web

import (
	"cmp"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/verdicts"
)

// Limits of the pages about scopes.
const (
	scopesPerPage    = 50
	maxShownTesters  = 50 // of one check
	maxShownVerdicts = 20 // of the history
	maxShownWaiting  = 20 // branches of a rule
)

// scopesData is the data of the list of scopes.
type scopesData struct {
	document.ScopePage
	Query  route.ScopeQuery
	Kind   string // "" means all
	Counts []verdictCount
	First  string // address of the first page of the table; "" means that this is the first one
	Next   string // address of the next page of the table; "" means none
}

// verdictCount is a verdict with the number of its scopes.
type verdictCount struct {
	Verdict document.Verdict
	Count   int
}

// scopesPage lists scopes, the worst first.
func scopesPage(v *visit) (*page, error) {
	q := v.URL.Query()
	at := route.ScopeQuery{Verdict: q.Get("verdict"), Sort: cmp.Or(q.Get("sort"), "verdict"), After: q.Get("after"),
		Limit: scopesPerPage}
	kind := q.Get("kind")
	if kind != "" {
		at.Kinds = []string{kind}
	}
	shown, err := get(v, route.Scopes(), at)
	if err != nil {
		return nil, err
	}
	d := scopesData{ScopePage: shown, Query: at, Kind: kind}
	for _, verdict := range document.Verdicts() {
		if n := shown.Verdicts[verdict]; n > 0 {
			d.Counts = append(d.Counts, verdictCount{verdict, n})
		}
	}
	if at.After != "" {
		d.First = pageAfter(scopesTab, q, "")
	}
	if shown.Cursor != "" {
		d.Next = pageAfter(scopesTab, q, shown.Cursor)
	}
	words := []string{"fettle", "scope", "list"}
	for _, flag := range [][2]string{{"--kind", kind}, {"--verdict", at.Verdict}, {"--sort", at.Sort},
		{"--after", at.After}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return &page{Title: "Scopes", Tab: scopesTab, Template: "scopes", Data: d, Command: commandOf(words...),
		Address: address(route.Scopes(), at)}, nil
}

// scopeTreePage shows the scopes of a fleet as a tree.
func scopeTreePage(v *visit) (*page, error) {
	all, err := get(v, route.Scopes(), route.ScopeQuery{})
	if err != nil {
		return nil, err
	}
	return &page{Title: "Tree of scopes", Tab: scopesTab, Template: "scopetree", Data: verdicts.Trees(all.Scopes),
		Command: "fettle scope list", Address: address(route.Scopes(), route.ScopeQuery{})}, nil
}

// scopeData is the data of the page of a scope.
type scopeData struct {
	document.ScopeDetail
	Undeclared  bool // only the history is known
	Tree        verdicts.Tree
	Members     []document.ScopeMember // that are shown
	MoreMembers int
	Checks      []checkData
	Tasks       []taskData
	History     []document.ScopeVerdict
	MoreHistory int
	// HistoryCommand shows all verdicts.
	HistoryCommand string
}

// checkData is a check for display.
type checkData struct {
	document.ScopeCheck
	More int // number of further targets that test it
}

// Counted returns the number of targets that test the check and count.
func (c checkData) Counted() int { return c.OK + c.Failed + c.Pending + c.Unknown }

// scopePage shows why a scope has its verdict. Of a scope that the repository no longer declares, it has the history.
func scopePage(v *visit) (*page, error) {
	at := scopeAt(v)
	id := at.Kind + "/" + at.Scope
	detail, err := get(v, route.Scope(), at)
	gone := errors.Is(err, fleet.ErrNotFound)
	if err != nil && !gone {
		return nil, err
	}
	d := scopeData{ScopeDetail: detail, Undeclared: gone, HistoryCommand: commandOf("fettle", "scope", "history", id)}
	history, failed := get(v, route.ScopeHistory(), at)
	if failed != nil && gone {
		return nil, err
	} else if failed != nil {
		return nil, failed
	}
	d.MoreHistory = max(0, len(history.Verdicts)-maxShownVerdicts)
	d.History = history.Verdicts[:len(history.Verdicts)-d.MoreHistory]
	p := &page{Title: id, Tab: scopesTab, Template: "scope", Command: commandOf("fettle", "scope", "show", id),
		Address: address(route.Scope(), at)}
	if gone {
		p.Data, p.Command = d, d.HistoryCommand
		p.Address = address(route.ScopeHistory(), at)
		return p, nil
	}
	var within document.ScopePage
	if len(detail.Scope.Scopes) > 0 {
		if within, err = get(v, route.Scopes(), route.ScopeQuery{Within: id}); err != nil {
			return nil, err
		}
	}
	d.Tree = verdicts.Of(detail, within.Scopes)
	d.fill(v.May(access.Operate))
	p.Data = d
	return p, nil
}

// fill selects what the page shows: the parts that need attention come first.
func (d *scopeData) fill(operate bool) {
	d.Members = slices.Clone(d.ScopeDetail.Members)
	slices.SortStableFunc(d.Members, func(a, b document.ScopeMember) int {
		return cmp.Compare(memberRank(a.State), memberRank(b.State))
	})
	d.MoreMembers = max(0, len(d.Members)-maxShownMembers)
	d.Members = d.Members[:len(d.Members)-d.MoreMembers]
	for _, c := range d.ScopeDetail.Checks {
		slices.SortStableFunc(c.Testers, func(a, b document.ScopeTester) int {
			return cmp.Compare(testerRank(a), testerRank(b))
		})
		more := max(0, len(c.Testers)-maxShownTesters)
		c.Testers = c.Testers[:len(c.Testers)-more]
		d.Checks = append(d.Checks, checkData{c, more})
	}
	for _, t := range d.ScopeDetail.Tasks {
		d.Tasks = append(d.Tasks, newTask(t, operate))
	}
}

// memberRank orders members: first offline ones that count, then members that do not count.
func memberRank(s document.ScopeMemberState) int {
	switch s {
	case document.ScopeOffline:
		return 0
	case document.ScopeConnected:
		return 2
	}
	return 1
}

// testerRank orders the targets that test a check, the worst result first.
func testerRank(t document.ScopeTester) int {
	if t.Absent != "" {
		return 4
	}
	return slices.Index([]fleet.CheckOutcome{fleet.CheckFailed, "", fleet.CheckPending, fleet.CheckOK}, t.Outcome)
}

// environmentsData is the data of the page about environments.
type environmentsData struct {
	Environments []environmentData
	More         int // number of further environments
	Rules        []ruleData
}

// environmentData is an environment for display. The repository declares it, or an operator or a rule created it. Its
// scope is unknown until the leading hub has stored it.
type environmentData struct {
	document.Scope
	State   string // the verdict, or the state of an environment without one
	Created *document.Environment
}

// End returns the end of an environment, "" if the repository declares it.
func (d environmentData) End() string {
	switch {
	case d.Created == nil:
		return ""
	case d.Created.Until == 0:
		return "with its branch"
	}
	return at(d.Created.Until)
}

// ruleData is a rule for display.
type ruleData struct {
	document.EnvironmentRule
	More int // number of further branches that wait
}

// environmentsPage lists environments with their verdicts, and the rules that create some of them.
func environmentsPage(v *visit) (*page, error) {
	declared, err := get(v, route.Scopes(), route.ScopeQuery{Kinds: []string{"environment"}})
	if err != nil {
		return nil, err
	}
	created, err := get(v, route.Environments(), route.None{})
	if err != nil {
		return nil, err
	}
	rules, err := get(v, route.EnvironmentRules(), route.None{})
	if err != nil {
		return nil, err
	}
	d := environmentsData{Environments: environmentsOf(declared.Scopes, created.Environments)}
	d.More = max(0, len(d.Environments)-maxShownMembers)
	d.Environments = d.Environments[:len(d.Environments)-d.More]
	for _, r := range rules.Rules {
		more := max(0, len(r.Waiting)-maxShownWaiting)
		r.Waiting = r.Waiting[:len(r.Waiting)-more]
		d.Rules = append(d.Rules, ruleData{r, more})
	}
	return &page{Title: "Environments", Tab: scopesTab, Template: "environments", Data: d,
		Command: "fettle environment list", Address: address(route.Environments(), route.None{})}, nil
}

// environmentsOf joins the scopes of environments with the environments that operators and rules created, sorted by
// name. Environments that ended come last.
func environmentsOf(scopes []document.Scope, created []document.Environment) (out []environmentData) {
	byName := map[string]document.Environment{}
	for _, e := range created {
		byName[e.Name] = e
	}
	for _, s := range scopes {
		d := environmentData{Scope: s, State: string(s.Verdict)}
		if e, is := byName[s.Name]; is && e.State == document.EnvironmentInForce {
			d.Created = &e
			delete(byName, s.Name)
		}
		out = append(out, d)
	}
	for _, e := range byName {
		d := environmentData{State: string(e.State), Created: &e}
		d.Name, d.Parent, d.Domain = e.Name, e.Parent, e.Domain
		if d.State == string(document.EnvironmentInForce) {
			d.State = string(document.VerdictUnknown)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b environmentData) int {
		return cmp.Or(cmp.Compare(endRank(a), endRank(b)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func endRank(d environmentData) int {
	if d.Created != nil && d.Created.State != document.EnvironmentInForce {
		return 1
	}
	return 0
}
