package here

import "testing"

// TestFrom: sshd's word counts where the command line has none.
func TestFrom(t *testing.T) {
	env := func(string) string { return "192.0.2.7 51234 192.0.2.1 22" }
	none := func(string) string { return "" }
	for _, c := range []struct {
		given string
		env   func(string) string
		want  string
	}{
		{"", env, "ssh 192.0.2.7"}, {"192.0.2.9", env, "ssh 192.0.2.9"}, {"", none, "ssh"},
	} {
		if got := From(c.given, c.env); got != c.want {
			t.Errorf("given %q it is from %q, want %q", c.given, got, c.want)
		}
	}
}
