package document

// ExportsFormat is that of Exports.
const ExportsFormat = "fettle.fleet.exports/1"

// Export is a value that a target exports.
type Export struct {
	Target string `json:"target"` // its name
	Module string `json:"module"` // the directory
	// As is the name under which the target has the module, where it is not the directory's.
	As     string `json:"as,omitempty"`
	Output string `json:"output"`
	Value  string `json:"value"` // JSON
	Since  int64  `json:"since"` // ns since 1970, of all that the target exports
	// Users is how many targets are given it now.
	Users int `json:"users"`
}

// Exports is all that targets export.
type Exports struct {
	Format  string   `json:"format"`
	Exports []Export `json:"exports"` // by target, module and output
	// Snapshot is the text of exported.json: what is used, as those who use it are given it.
	Snapshot string `json:"snapshot"`
}
