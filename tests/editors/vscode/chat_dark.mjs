// All states of the chat in the dark theme.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates("Default Dark Modern");
