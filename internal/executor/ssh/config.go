package ssh

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// config adds the bytes of ssh_config files and of their included files to sum, without
// interpreting them. It includes all parts, whether or not they apply to the host: a
// change can only cause an unnecessary new connection.
type config struct {
	sum  io.Writer
	env  map[string]string
	home string // of the account, as ssh takes it
	most int    // bytes that may still be read
}

// errUnsteady is a configuration that decides by more than its text.
var errUnsteady = errors.New("ssh_config depends on more than its text")

const (
	maxConfig   = 1 << 20
	maxIncludes = 16 // within each other, as with ssh
)

// files reads the files of the account and of the machine. A machine's ssh has one of
// its two.
func (c *config) files(etc ...string) error {
	if err := c.file(filepath.Join(c.home, ".ssh", "config"), filepath.Join(c.home, ".ssh"), 0); err != nil {
		return err
	}
	for _, dir := range etc {
		if err := c.file(filepath.Join(dir, "ssh_config"), dir, 0); err != nil {
			return err
		}
	}
	return nil
}

// file reads one file. dir is the base of relative names that it includes.
func (c *config) file(name, dir string, depth int) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(c.sum, "no %q\n", name)
		return err
	}
	if err != nil {
		return err
	}
	if c.most -= len(text); c.most < 0 || depth > maxIncludes {
		return fmt.Errorf("%w: %s is too large or nested too deeply", errUnsteady, name)
	}
	if _, err := fmt.Fprintf(c.sum, "%q %q\n", name, text); err != nil {
		return err
	}
	if err := c.variables(string(text)); err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if err := c.line(line, dir, depth); err != nil {
			return err
		}
	}
	return nil
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^}]*)\}`) })

// variables adds the values of environment variables that are named.
func (c *config) variables(text string) error {
	if !strings.Contains(text, "${") {
		return nil
	}
	for _, m := range variable().FindAllStringSubmatch(text, -1) {
		value, ok := c.env[m[1]]
		if _, err := fmt.Fprintf(c.sum, "%q %v %q\n", m[1], ok, value); err != nil {
			return err
		}
	}
	return nil
}

// line follows what is included, and finds what is not steady: programs that decide, the
// network at hand, and names that DNS completes.
func (c *config) line(line, dir string, depth int) error {
	keyword, rest := keywordOf(line)
	switch keyword {
	case "include":
		for _, pattern := range strings.Fields(rest) {
			if err := c.include(pattern, dir, depth+1); err != nil {
				return err
			}
		}
	case "match", "canonicalizehostname":
		if !steady(keyword, rest) {
			return fmt.Errorf("%w: %s %s", errUnsteady, keyword, rest)
		}
	}
	return nil
}

const blank = " \t\r\n\f\v"

// keywordOf cuts a line after its keyword, which is in small letters then.
func keywordOf(line string) (keyword, rest string) {
	line = strings.TrimLeft(strings.Trim(line, blank), `"`)
	i := strings.IndexAny(line, blank+`="`)
	if i < 0 {
		return strings.ToLower(line), ""
	}
	return strings.ToLower(line[:i]), strings.Trim(line[i:], blank+"=")
}

// steady tells whether an option means the same as long as its text is the same.
func steady(keyword, value string) bool {
	keyword, value = strings.ToLower(keyword), strings.ToLower(strings.Trim(value, blank+`"`))
	switch keyword {
	case "match":
		return !strings.Contains(value, "exec") && !strings.Contains(value, "localnetwork")
	case "canonicalizehostname":
		return value == "no" || value == "none" || value == "false"
	}
	return true
}

// include reads what a pattern names. Patterns that ssh might read otherwise are not
// steady.
func (c *config) include(pattern, dir string, depth int) error {
	if len(pattern) > 1 && strings.HasPrefix(pattern, `"`) && strings.HasSuffix(pattern, `"`) {
		pattern = pattern[1 : len(pattern)-1]
	}
	if strings.HasPrefix(pattern, "~/") {
		pattern = filepath.Join(c.home, pattern[2:])
	}
	if pattern == "" || strings.ContainsAny(pattern, `"'\[{%$~`) {
		return fmt.Errorf("%w: it includes %s", errUnsteady, pattern)
	}
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.sum, "include %q %q\n", pattern, names); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.file(name, dir, depth); err != nil {
			return err
		}
	}
	return nil
}
