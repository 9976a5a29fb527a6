package repository

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// NewSchema builds the command schema, to print the JSON Schema of files in YAML and JSON, for
// editors.
func NewSchema(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [repository|module|tests]",
		Short: "Print the JSON Schema of files in YAML and JSON, for editors",
		Long: `Prints a JSON Schema (draft 2020-12) of a file: at the top of a repository, of a
module, or of tests. It is built from the schemas that fettle itself uses to
check files. Inside of a repository, or with -C, it also contains the kinds that
the repository defines.

With the schema an editor completes and checks while you write. If the editor
uses the YAML language server, one line at the top of a file is enough:

  # yaml-language-server: $schema=../../.schema/module.json`,
		Example: "  mkdir -p .schema\n  fettle schema > .schema/repository.json\n  fettle schema module > .schema/module.json\n  fettle schema tests > .schema/tests.json",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			part := schema.Repository
			if len(a) == 1 {
				part = schema.Part(a[0])
			}
			if !slices.Contains(schema.Parts(), part) {
				return cli.Refuse("Name one of: repository, module, tests",
					fmt.Sprintf("there is no part %q of a repository", part))
			}
			return printSchema(c.Context(), s, part, c.Flags().Changed("chdir"))
		},
	}
}

// printSchema prints the schema of a part; named means that the user named the repository. Without a
// repository, only built-in kinds exist.
func printSchema(ctx context.Context, s *cli.Session, part schema.Part, named bool) error {
	tree := repo.MapTree(map[string]string{"fettle.hcl": ""})
	if named || insideRepository(s) {
		src, err := s.OpenSource(ctx, s.Rev)
		if err != nil {
			return err
		}
		defer src.Repo.Close()
		tree = src.Tree
	}
	text, ds := compile.Ask(s.App.Language.Queries, compile.SchemaQuery{About: compile.About{Tree: tree}, Part: part})
	if err := ds.Err(); err != nil {
		return err
	}
	s.Warnings(ds)
	s.Documented = true
	if _, err := s.App.Stdout.Write(text); err != nil {
		return fmt.Errorf("cannot print the schema: %w", err)
	}
	return nil
}

// insideRepository tells whether a main file is in this directory or above.
func insideRepository(s *cli.Session) bool {
	dir, err := filepath.Abs(s.Dir)
	for err == nil {
		if workspace.HasMain(dir, cli.FileExists) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return false
}
