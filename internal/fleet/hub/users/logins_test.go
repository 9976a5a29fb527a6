package users

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestTextsOfUsers: the answer names the roles of a user after a change, or says that there are none.
func TestTextsOfUsers(t *testing.T) {
	for want, r := range map[string]document.UserRequest{
		"The user ann has no role.":                    {Name: "ann"},
		"The user ann has the role ops.":               {Name: "ann", Roles: []string{"ops"}},
		"The user ann has the roles admins, ops, web.": {Name: "ann", Roles: []string{"admins", "ops", "web"}},
		"The user ann has the role ops. Groups: dba, sre.": {Name: "ann", Roles: []string{"ops"},
			Groups: []string{"dba", "sre"}},
		"The user ann is locked out.": {Name: "ann", Roles: []string{"ops"}, Locked: true},
	} {
		if got := userText(r, ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
