package socket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/kxtools/kx/pkg/socket"
	"github.com/kxtools/kx/pkg/wire"
)

// demo is a host that tells what it is, counts, and knows nothing else. A real client
// has the path of a socket and the bytes of a key.
func demo() socket.Options {
	return fake(func(r request) []string {
		switch r.Verb {
		case "info":
			return []string{`{"id":%d,"result":{"type":"host","v":1,"name":"lsp","state":"running","pid":4711,"version":"1.2.3","memory_bytes":21000000}}`}
		case "count":
			return []string{`{"id":%d,"result":{"n":1}}`, `{"id":%d,"result":{"n":2}}`, `{"id":%d,"result":{"n":3}}`}
		}
		return []string{`{"id":%d,"error":{"code":"usage","exit":2,"message":"this host knows no verb \"` + r.Verb + `\""}}`}
	}).options()
}

func Example() {
	ctx := context.Background()
	c, err := socket.Dial(ctx, demo())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var about wire.Host
	if err := c.Ask(ctx, "info", nil, &about); err != nil {
		log.Fatal(err)
	}
	fmt.Println(about.Name, about.PID, about.MemoryBytes>>20, "MiB")

	var refused *socket.Error
	if err := c.Ask(ctx, "dance", nil, &about); errors.As(err, &refused) {
		fmt.Printf("%s (exit %d)\n", refused.Message, refused.Exit)
	}
	// Output:
	// lsp 4711 20 MiB
	// this host knows no verb "dance" (exit 2)
}

// Answers come until the client has had enough, or its context ends.
func ExampleClient_Do() {
	ctx := context.Background()
	c, err := socket.Dial(ctx, demo())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	err = c.Do(ctx, "count", nil, func(result json.RawMessage) (more bool, err error) {
		fmt.Println(string(result))
		return string(result) != `{"n":2}`, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"n":1}
	// {"n":2}
}
