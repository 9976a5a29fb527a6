package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

func newCompletion(s *cli.Session) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print the completion script for a shell",
		Long:      "Prints the completion script for bash, zsh, fish or powershell.",
		Example:   "  source <(fettle completion bash)\n  fettle completion fish > ~/.config/fish/completions/fettle.fish",
		ValidArgs: shells,
		Args:      cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			root, w := c.Root(), s.App.Stdout
			switch a[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return cli.Refuse("Name one of: bash, zsh, fish, powershell", fmt.Sprintf("cannot complete for %q", a[0]))
		},
	}
}
