package cli

// printer writes the output of one command: text for users, or JSON documents.
type printer struct {
	app           *App
	json, noColor bool
	verbose       bool
	documented    bool // a JSON document has been printed
}
