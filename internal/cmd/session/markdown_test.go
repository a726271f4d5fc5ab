package session

import "testing"

func TestOpenFence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "text": "", "```go\nx\n": "```", "```go\nx\n```\n": "", "a\n  ~~~~\nx\n~~~\n": "~~~~", "````\n```\n": "````", "```\n````": "",
		"    ```\nx": "", "``` a `b`\n": "", "``": "", "```\nx\n```go\n": "```", "```\r\nx\r\n```  \r\n": "",
	} {
		if got := openFence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
