package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/render"
)

// Printer writes the output of one command: text for users, or JSON documents.
type Printer struct {
	App           *App
	JSON, noColor bool
	Verbose       bool
	Documented    bool // a JSON document has been printed
}

// Colored reports whether output is coloured on a stream that is a terminal or not.
func (s *Printer) Colored(terminal bool) bool {
	return terminal && !s.noColor && s.App.Env("NO_COLOR") == "" && s.App.Env("TERM") != "dumb"
}

// Style is the style of standard output.
func (s *Printer) Style() render.Style {
	return render.Style{Color: s.Colored(s.App.Terminal.Out), Width: s.widthOf(s.App.Terminal.Out)}
}

// ErrStyle is the style of standard error.
func (s *Printer) ErrStyle() render.Style {
	return render.Style{Color: s.Colored(s.App.Terminal.Err), Width: s.widthOf(s.App.Terminal.Err)}
}

func (s *Printer) widthOf(terminal bool) int {
	if !terminal {
		return 0
	}
	return s.App.Terminal.Width
}

// Printf writes text to stdout, except with --json.
func (s *Printer) Printf(format string, args ...any) {
	if !s.JSON {
		fmt.Fprintf(s.App.Stdout, format, args...)
	}
}

// Document prints the one JSON document of a command.
func (s *Printer) Document(doc any) error {
	s.Documented = true
	if err := printJSON(s.App.Stdout, doc, "  "); err != nil {
		return fmt.Errorf("cannot print the JSON document: %w", err)
	}
	return nil
}

// printJSON writes a document in which different names of files are different strings, even if they
// are not UTF-8: see journal.Marshal.
func printJSON(w io.Writer, doc any, indent string) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(journal.Readable(doc, text))
}

// SleepUntil waits until t on the clock of the app. It returns the error of ctx if ctx ends first.
func SleepUntil(ctx context.Context, s *Printer, t time.Time) error {
	timer := time.NewTimer(t.Sub(s.App.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// TimeZone is the time zone of the times that are shown.
func (a *App) TimeZone() *time.Location {
	if a.Zone == nil {
		return time.UTC
	}
	return a.Zone
}
