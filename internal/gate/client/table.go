package client

import "strings"

// line is a tool of a client in our words.
type line struct {
	tool   string            // our name, "" if there is none
	fields map[string]string // its fields that we call otherwise
	does   string            // search, glob or patch: what else is to be looked at
}

// parseTable reads a table: the client's name, ours or -, then each field that we
// look at, as FIELD=OURS where we call it otherwise, and !WHAT for what else the
// tool does.
func parseTable(text string) map[string]line {
	table := map[string]line{}
	for _, row := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(row)
		l := line{tool: strings.TrimPrefix(words[1], "-")}
		for _, w := range words[2:] {
			if does, ok := strings.CutPrefix(w, "!"); ok {
				l.does = does
				continue
			}
			theirs, ours, ok := strings.Cut(w, "=")
			if !ok {
				ours = theirs
			}
			if l.fields == nil {
				l.fields = map[string]string{}
			}
			l.fields[theirs] = ours
		}
		table[words[0]] = l
	}
	return table
}

// claudeTools are those of Claude Code, with the names that older versions gave.
const claudeTools = `
Bash bash command timeout=timeout_ms run_in_background=background
Monitor bash command
Read read_file file_path=path
NotebookRead read_file notebook_path=path
LS list_files path
Glob glob_search path !glob
Grep grep_search path !search
LSP lsp_definition filePath=path
Write write_file file_path=path
Edit edit_file file_path=path
MultiEdit edit_file file_path=path
NotebookEdit edit_file notebook_path=path
WebFetch web_fetch url
WebSearch web_search
Agent spawn_agent
Task spawn_agent
ListAgents list_agents
ListPeers list_agents
SendMessage message_agent
Skill use_skill
SlashCommand use_skill
ToolSearch list_skills
AskUserQuestion ask_user_question
TodoWrite todo_write
TaskCreate task_create
TaskGet task_get
TaskList task_list
TaskUpdate task_update
TaskOutput task_output
BashOutput task_output
TaskStop task_stop
KillShell task_stop
KillBash task_stop
EnterPlanMode enter_plan_mode
ExitPlanMode exit_plan_mode
CronCreate schedule_create
CronList schedule_list
CronDelete schedule_cancel
ScheduleWakeup wake_after
ReportFindings emit_output
StructuredOutput emit_output
SendUserMessage emit_output
Brief emit_output
PushNotification notify_operator
ListMcpResourcesTool list_mcp_resources
ReadMcpResourceTool read_mcp_resource
ReadMcpResourceDirTool read_mcp_resource
WaitForMcpServers list_mcp_resources
PowerShell -
REPL -
Workflow -
EnterWorktree -
ExitWorktree -
DesignSync -
DeferredToolPlaceholder -
Artifact -
Config -
WebBrowser -
RemoteTrigger -
SendUserFile -
ShareOnboardingGuide -
SuggestBackgroundPR -
SubscribePR -
TeamCreate -
TeamDelete -
Sleep -
`

// codexTools are those of Codex. Whatever runs a command is Bash in its hooks; the
// names that its model sees stand here, too.
const codexTools = `
Bash bash command workdir=cwd
shell bash command workdir=cwd
shell_command bash command workdir=cwd
local_shell bash command workdir=cwd
container.exec bash command workdir=cwd
exec_command bash cmd=command workdir=cwd
unified_exec bash cmd=command workdir=cwd
apply_patch apply_patch !patch
Edit apply_patch !patch
Write apply_patch !patch
view_image read_file path
read_file read_file file_path=path
list_dir list_files dir_path=path
grep_files grep_search path !search
update_plan todo_write
web_search web_search
tool_search list_skills
request_user_input ask_user_question
spawn_agent spawn_agent
send_input message_agent
send_message message_agent
wait_agent wait_agent
list_agents list_agents
close_agent task_stop
get_goal get_goal
create_goal create_goal
update_goal update_goal
list_mcp_resources list_mcp_resources
list_mcp_resource_templates list_mcp_resource_templates
read_mcp_resource read_mcp_resource
image_generation generate_image
write_stdin -
exec -
wait -
js_repl -
resume_agent -
request_permissions -
`

// geminiTools are those of Gemini CLI.
const geminiTools = `
run_shell_command bash command dir_path=cwd directory=cwd is_background=background
read_file read_file file_path=path absolute_path=path
list_directory list_files path dir_path=path
glob glob_search path dir_path=path !glob
grep_search grep_search path dir_path=path !search
search_file_content grep_search path dir_path=path !search
write_file write_file file_path=path
replace edit_file file_path=path
web_fetch web_fetch url !fetch
google_web_search web_search
ask_user ask_user_question
write_todos todo_write
activate_skill use_skill
get_internal_docs list_skills
enter_plan_mode enter_plan_mode
exit_plan_mode exit_plan_mode
update_topic emit_output
complete_task emit_output
invoke_agent spawn_agent
codebase_investigator spawn_agent
cli_help spawn_agent
generalist spawn_agent
tracker_create_task task_create
tracker_update_task task_update
tracker_add_dependency task_update
tracker_get_task task_get
tracker_list_tasks task_list
tracker_visualize task_list
list_mcp_resources list_mcp_resources
read_mcp_resource read_mcp_resource
read_many_files -
save_memory -
`
