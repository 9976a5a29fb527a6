package commands_test

import (
	"context"
	"os"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/commands"
)

func ExampleApp_Main() {
	app := &cli.App{Commands: commands.All(nil), Stdout: os.Stdout, Stderr: os.Stdout,
		Env: func(string) string { return "" }}
	code := app.Main(context.Background(), []string{"aply"})
	os.Stdout.WriteString(map[bool]string{true: "it failed\n"}[code == cli.ExitUsage])
	// Output:
	// error: there is no command "fettle aply"
	//   hint: Did you mean: fettle apply
	// it failed
}
