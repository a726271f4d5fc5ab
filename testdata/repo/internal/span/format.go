package span

import (
	"fmt"
	"time"
)

// Format writes d as hours and minutes: "1:30", "-0:20". Seconds are dropped.
func Format(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d:%02d", sign, d/time.Hour, d%time.Hour/time.Minute)
}
