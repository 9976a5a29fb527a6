package edit_test

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/edit"
)

func ExampleEdit() {
	h := mem.New(mem.Options{})
	f, _ := h.Create("/hosts")
	f.Write([]byte("127.0.0.1 localhost\n# BEGIN fettle web\n10.0.0.1 web1\n# END fettle web\n"))
	f.Close()
	list, _ := step.Parse("list", []byte(`EDIT /hosts block=web content="10.0.0.2 web1\n"`+"\n"))
	now, _ := edit.Edit{}.Observe(context.Background(), verb.Env{Host: h}, list[0])
	to, _ := edit.Edit{}.Target(list[0], now, nil)
	fmt.Printf("%q at line %d becomes %q\n", now.Region().Text, now.Region().Line, to.Region().Text)
	// Output: "10.0.0.1 web1\n" at line 2 becomes "10.0.0.2 web1\n"
}
