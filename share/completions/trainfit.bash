# bash completion for trainfit
_trainfit() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  # Names carry ':' and '='; bash breaks words there, so what stands before is cut off again.
  [ -n "$(type -t __ltrim_colon_completions)" ] && __ltrim_colon_completions "${COMP_WORDS[COMP_CWORD]}"
}
complete -o default -F _trainfit trainfit
