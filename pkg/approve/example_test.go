package approve_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kxtools/kx/pkg/approve"
	"github.com/kxtools/kx/pkg/wire"
)

// demo is a host with two requests; the second one is answered already.
var demo = fakeHost{say: func(r request) []string {
	switch r.Verb {
	case "list", "watch":
		lines := []string{
			pending("7k2q", "bash", `{"command":"go test ./..."}`),
			pending("7k3w", "write_file", `{"path":"/src/clock/clock.go"}`),
		}
		if r.Verb == "list" {
			return append(lines, `{"id":%d,"result":{"type":"end","v":1,"count":2}}`)
		}
		return lines
	case "wait":
		return []string{`{"id":%d,"result":{"type":"approval","v":1,"id":"` + r.Args.ID + `","state":"denied","note":"use the staging bucket"}}`}
	}
	if r.Args.ID != "7k2q" {
		return []string{`{"id":%d,"error":{"code":"already_decided","exit":7,"message":"request 7k3w is denied already","hint":"kx approve show 7k3w"}}`}
	}
	return []string{`{"id":%d,"result":{"type":"approval","v":1,"id":"7k2q","tool":"bash","state":"allowed","scope":"once"}}`}
}}

// options are those of the demo. A real client has the path of the socket and the
// bytes of a key.
func options() approve.Options { return demo.options() }

func ExampleClient_List() {
	ctx := context.Background()
	c, err := approve.Dial(ctx, options())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	list, err := c.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range list {
		fmt.Println(a.ID, a.Tool, string(a.Input))
	}
	// Output:
	// 7k2q bash {"command":"go test ./..."}
	// 7k3w write_file {"path":"/src/clock/clock.go"}
}

func ExampleClient_Allow() {
	ctx := context.Background()
	c, err := approve.Dial(ctx, options())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for _, id := range []string{"7k2q", "7k3w"} {
		a, err := c.Allow(ctx, id, approve.Answer{})
		var refused *approve.Error
		switch {
		case errors.As(err, &refused):
			fmt.Printf("%s (exit %d)\n", refused.Message, refused.Exit)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(a.ID, a.State, a.Scope)
		}
	}
	// Output:
	// 7k2q allowed once
	// request 7k3w is denied already (exit 7)
}

func ExampleClient_Wait() {
	ctx := context.Background()
	c, err := approve.Dial(ctx, options())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	a, err := c.Wait(ctx, "7k3w")
	if err != nil {
		log.Fatal(err)
	}
	if a.State == wire.ApprovalDenied {
		fmt.Println("denied:", a.Note)
	}
	// Output:
	// denied: use the staging bucket
}

// A bot that answers what it knows and leaves the rest to people. The callback may
// use the client.
func ExampleClient_Watch() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := approve.Dial(ctx, options())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Watch(ctx, func(a *wire.Approval) error {
		if a.Tool != "bash" {
			fmt.Println("for a person:", a.Tool)
			stop() // a real bot goes on
			return nil
		}
		a, err := c.Allow(ctx, a.ID, approve.Answer{Note: "tests may run"})
		if err == nil {
			fmt.Println(a.ID, a.State)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	// Output:
	// 7k2q allowed
	// for a person: write_file
}
