package document

// ExportsFormat is the format of Exports.
const ExportsFormat = "fettle.fleet.exports/1"

// Export is a value that a target exports.
type Export struct {
	Target string `json:"target"` // its name
	Module string `json:"module"` // the directory
	// As is the name under which the target has the module, if it differs from the directory.
	As     string `json:"as,omitempty"`
	Output string `json:"output"`
	Value  string `json:"value"` // JSON
	Since  int64  `json:"since"` // ns since 1970, of all exports of the target
	// Users is the number of targets that receive the value now.
	Users int `json:"users"`
}

// Exports has all values that targets export.
type Exports struct {
	Format  string   `json:"format"`
	Exports []Export `json:"exports"` // by target, module and output
	// Snapshot is the text of exported.json: the values that are used, in the form in which the
	// targets receive them.
	Snapshot string `json:"snapshot"`
}
