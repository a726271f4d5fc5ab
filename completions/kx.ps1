# PowerShell completion for kx, made by "make completions".
# Nothing that is typed is evaluated: the words go to kx as arguments.

Register-ArgumentCompleter -Native -CommandName kx -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $words = @()
    foreach ($element in @($commandAst.CommandElements | Select-Object -Skip 1)) {
        $extent = $element.Extent
        if ($extent.StartOffset -ge $cursorPosition) { break }
        $length = [Math]::Min($extent.EndOffset, $cursorPosition) - $extent.StartOffset
        $words += $extent.Text.Substring(0, $length)
    }
    if ($wordToComplete -eq '') { $words += '' }

    foreach ($line in @(& kx __complete -- @words 2>$null)) {
        $value, $help = $line -split "`t", 2
        if ($value -eq ':files' -or $value -eq ':dirs') {
            $flag = ''
            $path = $wordToComplete
            if ($path -match '^(--[^=]*=)(.*)$') { $flag = $Matches[1]; $path = $Matches[2] }
            Get-ChildItem -Path "$path*" -Directory:($value -eq ':dirs') -ErrorAction SilentlyContinue | ForEach-Object {
                $name = $flag + (Resolve-Path -Relative -LiteralPath $_.FullName)
                if ($name -match '[^\w./:=@%+,-]') { $name = "'" + ($name -replace "'", "''") + "'" }
                [System.Management.Automation.CompletionResult]::new($name, $_.Name, 'ProviderItem', $_.FullName)
            }
            continue
        }
        if (-not $help) { $help = $value }
        $text = $value
        if ($text -match '[^\w./:=@%+,-]') { $text = "'" + ($text -replace "'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $help)
    }
}
