package commands

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/ui/cli"
)

// libraryText are parts of messages of the standard library and of pflag about bad values.
func libraryText() []string {
	return []string{
		"strconv.", "time: invalid", "time: unknown", "time: missing",
		"parsing ", "parse error", "invalid syntax", "value out of range", "invalid argument",
		"unknown unit", "missing unit", "invalid duration", "extraneous", "bare \"", "missing port in address",
		"invalid URL", "EOF",
	}
}

// TestBadValues: no flag of any command answers a bad value with a message of the standard library.
// The answer names the flag.
func TestBadValues(t *testing.T) {
	bad := []string{"", "x", "-1", "0", "1.5", "5 m", "1e9", "99999999999999999999", "0x", "\"", "a,\"b", "a\nb", "٣"}
	bad = append(bad, "10%%", "512mib", "\xff")
	refused := map[string]int{}
	everyCommand(t, func(c *cobra.Command, words []string) {
		visit := func(f *pflag.Flag) {
			for _, text := range bad {
				if said := refusedValue(c, f.Name, text); said != "" {
					refused[f.Value.Type()]++
					checkRefusal(t, strings.Join(words, " "), f.Name, text, said)
				}
			}
		}
		c.LocalFlags().VisitAll(visit)
		c.Root().PersistentFlags().VisitAll(visit)
	})
	for _, kind := range []string{"bool", "int", "size", "duration", "amount", "time", "stringSlice", "stop|undo"} {
		if refused[kind] == 0 {
			t.Errorf("no bad value of the type %s was refused: %v", kind, refused)
		}
	}
}

// refusedValue returns the message about a value of a flag, "" if the value is accepted.
func refusedValue(c *cobra.Command, flag, text string) string {
	err := c.ParseFlags([]string{"--" + flag + "=" + text})
	if err == nil {
		return ""
	}
	return cli.FlagError(c, err).Error()
}

type fataler interface {
	Helper()
	Errorf(format string, args ...any)
}

func checkRefusal(t fataler, command, flag, text, said string) {
	t.Helper()
	if !strings.Contains(said, "cannot use --"+flag+": ") {
		t.Errorf("fettle %s --%s=%q does not name the flag: %s", command, flag, text, said)
	}
	said = strings.ReplaceAll(said, text, "")
	if i := slices.IndexFunc(libraryText(), func(s string) bool { return strings.Contains(said, s) }); i >= 0 {
		t.Errorf("fettle %s --%s=%q: %q is of a library: %s", command, flag, text, libraryText()[i], said)
	}
}

// TestAnyValue: the same for one flag of each type and any value.
func TestAnyValue(t *testing.T) {
	flags := map[string][2]string{}
	everyCommand(t, func(c *cobra.Command, words []string) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Value.Type()] = [2]string{strings.Join(words, " "), f.Name} })
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9a-fx.,%" ]{0,12}[smhdwKMGTiB]{0,3}`)).Draw(t, "text")
		for _, at := range flags {
			c, _, err := (&cli.App{Now: time.Now, Commands: All(nil)}).Root().Find(strings.Fields(at[0]))
			if err != nil {
				t.Fatal(err)
			}
			if said := refusedValue(c, at[1], text); said != "" {
				checkRefusal(t, at[0], at[1], text, said)
			}
		}
	})
}

// TestFlagsWithOneMeaning: flags with the same name have the same type and short form in all
// commands, and placeholders say what a value is.
func TestFlagsWithOneMeaning(t *testing.T) {
	types, short := map[string]string{}, map[string]string{}
	vague := []string{"int", "string", "strings", "duration", "size", "time", "amount", "stringArray"}
	vague = append(vague, "WHAT", "WHY", "LONG", "OFTEN", "AMOUNT", "N")
	everyCommand(t, func(c *cobra.Command, words []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || c.Hidden {
				return
			}
			at := strings.Join(words, " ") + " --" + f.Name
			if was, ok := short[f.Name]; ok && was != f.Shorthand {
				t.Errorf("%s has the short form %q, elsewhere %q", at, f.Shorthand, was)
			}
			if was, ok := types[f.Name]; ok && was != f.Value.Type() && !severalTypes(f.Name) {
				t.Errorf("%s is of the type %s, elsewhere %s", at, f.Value.Type(), was)
			}
			types[f.Name], short[f.Name] = f.Value.Type(), f.Shorthand
			if place, _ := pflag.UnquoteUsage(f); slices.Contains(vague, place) {
				t.Errorf("%s has the placeholder %s, which does not say what the value is", at, place)
			}
		})
	})
}

// severalTypes reports whether a name has different meanings that its commands make clear.
func severalTypes(name string) bool {
	return slices.Contains([]string{"fleet", "name", "from", "key", "approve", "for"}, name)
}

// TestEndingsAsk: each command that ends something permanently has --yes, and refuses without a
// terminal before it does anything.
func TestEndingsAsk(t *testing.T) {
	ends := []string{
		"gc", "rollback", "cert revoke", "user revoke", "token revoke", "target revoke", "target retire", "hub retire",
		"notify delete",
		"request policy delete", "agent delete-certificate",
	}
	found := 0
	everyCommand(t, func(c *cobra.Command, words []string) {
		name := strings.Join(words, " ")
		last := words[len(words)-1]
		verb, _, _ := strings.Cut(last, "-")
		named := slices.Contains([]string{"revoke", "retire", "delete"}, verb)
		if !slices.Contains(ends, name) && (!named || reversible(name)) {
			return
		}
		found++
		if c.Flags().Lookup("yes") == nil {
			t.Errorf("fettle %s has no --yes", name)
		}
	})
	if found < len(ends) {
		t.Errorf("found only %d of %d commands", found, len(ends))
	}
}

// reversible reports whether a command deletes something that another command creates again.
func reversible(name string) bool {
	return slices.Contains([]string{"target delete-binary", "secret delete-recipient"}, name)
}

// TestFlagErrorsKeepTheirCause: an error about a value is wrong usage, and a text about an unknown
// flag suggests another one.
func TestFlagErrorsKeepTheirCause(t *testing.T) {
	c, _, err := (&cli.App{Now: time.Now, Commands: All(nil)}).Root().Find([]string{"job", "list"})
	if err != nil {
		t.Fatal(err)
	}
	perr := c.ParseFlags([]string{"--limit=many"})
	var value *pflag.InvalidValueError
	if !errors.As(perr, &value) {
		t.Fatalf("pflag returns %v", perr)
	}
	if said := cli.FlagError(c,
		perr).Error(); said != `cannot use --limit: "many" is not a whole number from 0 to 1000000000` {
		t.Errorf("it says %s", said)
	}
	if said := refusedValue(c, "limt", "5"); !strings.Contains(said, "unknown flag: --limt") {
		t.Errorf("it says %s", said)
	}
}
