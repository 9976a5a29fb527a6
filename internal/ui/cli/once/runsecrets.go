package once

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
)

// takeSecrets reads and hides the secret parameters of a command, or of the actions of
// a name.
func takeSecrets(s *cli.Session, c *foundCommand, found []query.Declared, given map[string]string) error {
	var params []query.Param
	if c != nil {
		params = c.Params
	}
	for _, d := range found {
		params = append(slices.Clip(params), d.Params...)
	}
	s.HideTyped(params, given) // of the typed words, also the name of a file
	return readSecrets(s.Printer, params, given)
}

// readSecrets reads the values of secret parameters: @FILE is the content of the file, @- is standard
// input. The list of processes does not contain these values.
func readSecrets(s *cli.Printer, params []query.Param, given map[string]string) error {
	read := map[string]bool{} // actions of one name share theirs
	for _, p := range params {
		name, from := strings.CutPrefix(given[p.Name], "@")
		if !p.Secret || !from || read[p.Name] {
			continue
		}
		read[p.Name] = true
		var text []byte
		var err error
		if name == "-" {
			text, err = io.ReadAll(io.LimitReader(s.App.Stdin, maxTyped))
		} else {
			text, err = os.ReadFile(name)
		}
		if err != nil {
			return cli.WithHint(fmt.Errorf("cannot read the parameter %q: %w", p.Name, err),
				"@FILE reads a file, and @- reads standard input")
		}
		given[p.Name] = strings.TrimSuffix(string(text), "\n")
	}
	return nil
}

// maxTyped is how long a secret may be that is piped in, in bytes.
const maxTyped = 64 << 10
