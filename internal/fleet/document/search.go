package document

// SearchFormat is the format of Search.
const SearchFormat = "fettle.fleet.search/1"

// Search contains the results of a search. Each list has at most the requested number of results.
type Search struct {
	Format string `json:"format"`
	Text   string `json:"text"`

	Targets  []Target        `json:"targets"`
	Modules  []Module        `json:"modules"`
	States   []FoundState    `json:"states"`
	Commits  []RevisionCount `json:"commits"`
	Rollouts []Rollout       `json:"rollouts"`
	Runs     []Event         `json:"runs"` // the newest first
	// More is the number of results that are left out, by the name of the list.
	More map[string]int `json:"more,omitempty"`
	// Incomplete lists the content in which the hub could not search, with the reasons.
	Incomplete []string `json:"incomplete,omitempty"`
}

// Empty reports whether nothing was found.
func (s Search) Empty() bool {
	return len(s.Targets)+len(s.Modules)+len(s.States)+len(s.Commits)+len(s.Rollouts)+len(s.Runs) == 0
}

// FoundState is a state that the source of a module declares. The module is assigned to active targets.
type FoundState struct {
	Kind string `json:"kind"`
	// Names are the objects that the state manages. An expression that only a target can evaluate is as written.
	Names  []string `json:"names"`
	Module string   `json:"module"` // its directory; "" is the root of the repository
	File   string   `json:"file"`
	Line   int      `json:"line"`
	// Commits are the assigned commits with this state; commits with the same content are one.
	Commits []string `json:"commits"`
	Targets int      `json:"targets"` // to which the module is assigned with this state
	First   []string `json:"first"`   // the names of the first targets
}
