# fish completion for trainfit
function __trainfit_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    trainfit __complete $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command trainfit --arguments '(__trainfit_complete)'
