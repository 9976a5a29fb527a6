package selection

import (
	"fmt"
	"strings"
)

// Grammar describes the selections of -t for users, in lines of at most 80 columns. Each line
// ends with a newline.
const Grammar = `-t selects targets. Quote the selection, so that the shell does not expand it.

  web1                  the target with this name
  web*                  * matches any text, ? any character, [1-3] one of
                        these, [!1-3] none of these, {web,db}1 both names

  group:berlin          the targets of a target group
  role:web              targets with this role, also through another role

  label:env=prod        targets with this value of the label
  label:env!=prod       targets with another value, or without the label
  label:canary          targets with this label, any value

  @failed               targets that failed in the last run
  @hosts.txt            a file with one selection per line; # begins a comment

  web1,web2             both targets; a second -t has the same effect
  role:web&label:env=prod   targets that match both
  web*,!web3            all of these except web3; ! excludes a target from
                        the whole selection
  !web3                 all targets except web3
  role:web&!label:canary    targets with a role and without a label
  web\*                 the name web*: \ removes the special meaning of *

Values can be patterns, too: group:ber*, label:env={prod,staging}. A name
without * ? [ { must exist; otherwise the command fails. Targets are sorted by
name.
`

// withoutComment removes the comment and the surrounding blanks of a line. A comment begins with #
// at the start of the line or after a blank.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return trim(line)
}

// shortened shortens a text for a message.
func shortened(text string) string {
	const most = 120
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// few returns the first of some names, and the number of the remaining names.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
