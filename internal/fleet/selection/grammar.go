package selection

import (
	"fmt"
	"strings"
)

// Grammar says for people what -t takes, as lines of at most 80 columns that end
// with a newline.
const Grammar = `-t chooses targets. Put it in quotes, so that the shell leaves it alone.

  web1                  the target of that name
  web*                  * is any text, ? any character, [1-3] one of these,
                        [!1-3] none of these, {web,db}1 either
  group:berlin          the targets of a target group
  role:web              those that have a role, also by way of another
  label:env=prod        those with a label of that value
  label:env!=prod       those with another value, or without the label
  label:canary          those with the label, whatever its value
  @failed               those that failed in the last run
  @hosts.txt            what a file says: a selection a line, # begins a comment

  web1,web2             either: a comma joins, and so does another -t
  role:web&label:env=prod   both
  web*,!web3            all of these but web3: what ! takes away stays away,
                        whatever else is said
  !web3                 all but web3
  role:web&!label:canary    those of a role without a label
  web\*                 \ takes the meaning off what follows

Values may be patterns too: group:ber*, label:env={prod,staging}. What is
written without * ? [ { has to be there, so a name with a mistake in it is told.
Targets come in the order of their names.
`

// withoutComment is a line of a file without blanks around it and the comment
// that # begins, at the beginning or behind a blank.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return trim(line)
}

// shortened is a text that fits a message.
func shortened(text string) string {
	const most = 120
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// few are the first of some names.
func few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
