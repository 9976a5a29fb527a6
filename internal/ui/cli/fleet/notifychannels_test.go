package fleet

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// TestChannels: the flags of each channel exist, its help names them, and they set the channel and no other one. Each
// channel of a rule has flags.
func TestChannels(t *testing.T) {
	var set []string
	help := newNotifySet(&cli.Session{Printer: &cli.Printer{App: &cli.App{Stdout: io.Discard}}}).Flags()
	for _, c := range notifyChannels() {
		for _, name := range slices.Concat(c.flags, c.settings) {
			if help.Lookup(name) == nil {
				t.Errorf("there is no flag --%s", name)
			}
		}
		if !strings.Contains(c.hint, "--"+c.flags[0]+" ") {
			t.Errorf("the hint %q does not name --%s", c.hint, c.flags[0])
		}
		f := notifyFlags{hook: document.Webhook{URL: "https://a"}, mail: document.Mail{To: []string{"a@b"}},
			command: document.Command{Program: "a"}}
		var r document.Notification
		c.set(&f, &r)
		set = append(set, channelsIn(t, r)...)
		f, r = notifyFlags{}, document.Notification{}
		if c.set(&f, &r); channelsIn(t, r) != nil {
			t.Errorf("--%s sets a channel that was not given", c.flags[0])
		}
	}
	v, all := reflect.TypeFor[document.Notification](), []string(nil)
	for i := range v.NumField() {
		if v.Field(i).Type.Kind() == reflect.Pointer {
			all = append(all, v.Field(i).Name)
		}
	}
	if slices.Sort(set); !slices.Equal(set, slices.Sorted(slices.Values(all))) {
		t.Errorf("flags set the channels %v, and a rule can have %v", set, all)
	}
}

// channelsIn returns the names of the fields of a rule that contain a channel.
func channelsIn(t *testing.T, r document.Notification) (names []string) {
	t.Helper()
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer && !v.Field(i).IsNil() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}
