package workspace_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/workspace"
)

// TestEnrolledTree: the targets of the fleet replace a file of the repository with their name.
func TestEnrolledTree(t *testing.T) {
	all := fleet.EnrolledWith(map[string]map[string]string{"web1": {"env": "prod"}})
	own := repo.MapTree(map[string]string{"site.hcl": "", fleet.EnrolledFile: "of the repository"})
	for name, tree := range map[string]repo.Tree{"repository": own, "no repository": nil} {
		got := workspace.EnrolledTree(tree, all)
		text, err := got.ReadFile(fleet.EnrolledFile)
		if err != nil || string(text) != string(fleet.Enrolled(all)) {
			t.Errorf("%s: the file is %q, %v", name, text, err)
		}
		list, err := got.ReadDir(".")
		if err != nil || len(list) != 2 {
			t.Errorf("%s: the directory is %v, %v", name, list, err)
		}
	}
}
