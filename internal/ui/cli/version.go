package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

type versionDoc struct {
	Format  string `json:"format"` // fettle.version/1
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of fettle",
		Example: "  fettle version",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if s.json {
				return s.document(versionDoc{"fettle.version/1", s.app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			s.printf("fettle %s (%s, %s/%s)\n", s.app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
